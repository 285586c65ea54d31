//! SVG to PNG, with a bundled font: the same picture on every machine.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Ubuntu Light; its licence is beside it.
const FONT: &[u8] = include_bytes!("fonts/Ubuntu-Light.ttf");

/// Pixels per unit of the SVG.
const SCALE: f32 = 2.0;

/// Renders pictures.
#[derive(Debug)]
pub struct Painter {
    options: Options<'static>,
}

impl Default for Painter {
    fn default() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(FONT.to_vec());
        let family = fonts
            .faces()
            .next()
            .and_then(|face| face.families.first())
            .map(|(name, _)| name.clone())
            .expect("the bundled font is valid");
        fonts.set_sans_serif_family(&family);
        fonts.set_serif_family(&family);
        Self {
            options: Options {
                font_family: family,
                fontdb: Arc::new(fonts),
                ..Options::default()
            },
        }
    }
}

impl Painter {
    /// The PNG of a picture that this program made.
    pub fn png(&self, svg: &str) -> Vec<u8> {
        let tree = Tree::from_str(svg, &self.options).expect("pictures are valid SVG");
        let size = tree.size();
        let pixels = |length: f32| (length * SCALE).ceil() as u32;
        let mut picture =
            Pixmap::new(pixels(size.width()), pixels(size.height())).expect("pictures have a size");
        let scale = Transform::from_scale(SCALE, SCALE);
        resvg::render(&tree, scale, &mut picture.as_mut());
        picture.encode_png().expect("encoding to memory")
    }
}
