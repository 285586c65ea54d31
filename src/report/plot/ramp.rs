//! Colours for heat maps: from dark blue through green to bright yellow. Lightness and the blue-yellow direction of
//! Oklab both rise evenly, so that equal steps look equal, also to colour-blind readers and in grey print.

/// The colour at `share` in [0, 1] as #rrggbb.
pub fn colour(share: f64) -> String {
    let t = share.clamp(0.0, 1.0);
    let lightness = 0.29 + 0.64 * t;
    // The red-green direction only bends, to keep the middle from being grey; it carries no information.
    let a = -0.02 - 0.02 * t - 0.30 * t * (1.0 - t);
    let b = -0.11 + 0.28 * t;
    let [red, green, blue] = linear_rgb(lightness, a, b).map(gamma);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Linear-light sRGB of an Oklab colour (Ottosson's matrices).
fn linear_rgb(lightness: f64, a: f64, b: f64) -> [f64; 3] {
    let l = (lightness + 0.3963377774 * a + 0.2158037573 * b).powi(3);
    let m = (lightness - 0.1055613458 * a - 0.0638541728 * b).powi(3);
    let s = (lightness - 0.0894841775 * a - 1.2914855480 * b).powi(3);
    [
        4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
        -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
        -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s,
    ]
}

/// The sRGB transfer function, as a byte.
fn gamma(linear: f64) -> u8 {
    let x = linear.clamp(0.0, 1.0);
    let encoded = if x <= 0.0031308 {
        12.92 * x
    } else {
        1.055 * x.powf(1.0 / 2.4) - 0.055
    };
    (encoded * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::colour;

    /// Relative luminance, as contrast rules define it.
    fn luminance(colour: &str) -> f64 {
        let part = |i: usize| {
            let x = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if x <= 0.04045 {
                x / 12.92
            } else {
                ((x + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    #[test]
    fn lightness_rises_evenly_from_end_to_end() {
        let lightness: Vec<f64> = (0..=20)
            .map(|i| luminance(&colour(f64::from(i) / 20.0)).cbrt())
            .collect();
        let steps: Vec<f64> = lightness.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = (lightness[20] - lightness[0]) / 20.0;
        assert!(mean > 0.02, "{mean}");
        for step in steps {
            assert!((0.6..1.4).contains(&(step / mean)), "{step} against {mean}");
        }
        assert_eq!(colour(-1.0), colour(0.0));
    }
}
