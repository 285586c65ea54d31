//! Shaders and the structs they share with the host, through naga: no adapter is needed.

use std::collections::BTreeSet;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use cbwk_gpu::dp::gpu::shader::{Bellman, BoundsShape, Shader, Variant};
use cbwk_gpu::dp::gpu::structs::{Header, Member32, Member64, Scale32, Scale64, Source, Step};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Every Bellman shader, with all the constants that occur.
fn bellmans() -> Vec<Bellman> {
    let mut bellmans = Vec::new();
    for threads in [8, 64] {
        let bellman = |variant, tile_vectors, costs| Bellman {
            variant,
            tile_vectors,
            costs,
            threads,
        };
        for tile_vectors in [2, 3, 4, 8] {
            bellmans.push(bellman(Variant::Narrow, tile_vectors, 1));
            bellmans.push(bellman(Variant::Narrow, tile_vectors, 4));
            bellmans.push(bellman(Variant::Wide, tile_vectors, 255));
        }
        bellmans.push(bellman(Variant::F64, 4, 255));
    }
    bellmans
}

fn shaders() -> Vec<Shader> {
    let mut shaders: Vec<Shader> = bellmans().into_iter().map(Shader::Bellman).collect();
    shaders.push(Shader::Append);
    for (actions, dimension, inside) in [(1, 1, false), (4, 2, true), (64, 16, true)] {
        let shape = BoundsShape {
            actions,
            dimension,
            inside,
        };
        let plan = |tile_vectors, costs| Shader::Plan {
            bellman: Bellman {
                variant: Variant::Narrow,
                tile_vectors,
                costs,
                threads: 64,
            },
            shape,
            auction: dimension == 1,
        };
        let contexts = 32;
        let bounds = Shader::Bounds { shape, contexts };
        shaders.extend([bounds, plan(8, 1), plan(4, 4)]);
    }
    shaders
}

fn validated(name: &str, source: &str) -> naga::Module {
    let module = naga::front::wgsl::parse_str(source)
        .unwrap_or_else(|error| panic!("{name}: {}", error.emit_to_string(source)));
    let capabilities = Capabilities::FLOAT64;
    Validator::new(ValidationFlags::all(), capabilities)
        .validate(&module)
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
    module
}

/// For `tests/compile_shaders`, which gives every variant to other compilers: WGSL and SPIR-V in the folder that
/// CBWK_SHADERS_OUT names.
fn write_out(number: usize, entry_point: &str, source: &str, module: &naga::Module) {
    let Some(folder) = std::env::var_os("CBWK_SHADERS_OUT") else {
        return;
    };
    let file = |kind: &str| Path::new(&folder).join(format!("{entry_point}.{number:02}.{kind}"));
    fs::write(file("wgsl"), source).unwrap();
    let info = Validator::new(ValidationFlags::all(), Capabilities::FLOAT64).validate(module);
    let options = naga::back::spv::Options {
        lang_version: (1, 3),
        ..Default::default()
    };
    let words = naga::back::spv::write_vec(module, &info.unwrap(), &options, None).unwrap();
    fs::write(file("spv"), bytemuck::cast_slice::<u32, u8>(&words)).unwrap();
}

/// A file with an entry point has its name; a file without one is shared by at least two shaders.
#[test]
fn every_shader_is_valid_and_named_after_its_entry_point() {
    let mut used = BTreeSet::new();
    for (number, shader) in shaders().into_iter().enumerate() {
        let module = validated(shader.entry_point(), &shader.source());
        write_out(number, shader.entry_point(), &shader.source(), &module);
        let entry_points = module.entry_points.iter().map(|e| e.name.as_str());
        assert_eq!(entry_points.collect::<Vec<_>>(), [shader.entry_point()]);
        assert_eq!(
            module.entry_points[0].workgroup_size,
            [shader.threads(), 1, 1]
        );
        used.insert(shader.entry_point());
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let mut with_entry_point = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_string();
        let text = without_constants(&fs::read_to_string(&path).unwrap());
        let sources: BTreeSet<&str> = shaders()
            .iter()
            .filter(|shader| without_constants(&shader.source()).contains(text.trim()))
            .map(Shader::entry_point)
            .collect();
        if text.contains("@compute") {
            with_entry_point.insert(stem);
        } else {
            assert!(sources.len() > 1, "{stem} is in {sources:?} alone");
        }
    }
    let used: BTreeSet<String> = used.into_iter().map(String::from).collect();
    assert_eq!(with_entry_point, used, "shaders in the folder and in use");
}

fn without_constants(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with("const "));
    lines.collect::<Vec<_>>().join("\n")
}

/// (name, offset) of a struct's fields and its size, as naga lays it out.
fn reflected(module: &naga::Module, name: &str) -> (Vec<(String, u32)>, u32) {
    let found = module
        .types
        .iter()
        .find(|(_, ty)| ty.name.as_deref() == Some(name));
    match found.map(|(_, ty)| &ty.inner) {
        Some(naga::TypeInner::Struct { members, span }) => {
            let field = |m: &naga::StructMember| (m.name.clone().unwrap(), m.offset);
            (members.iter().map(field).collect(), *span)
        }
        other => panic!("no struct {name}: {other:?}"),
    }
}

macro_rules! offsets {
    ($ty:ty, [$($field:ident),*]) => {
        vec![$((stringify!($field).to_string(), offset_of!($ty, $field) as u32)),*]
    };
}

macro_rules! assert_same_layout {
    ($module:expr, $name:literal, $ty:ty, [$($field:ident),*]) => {
        let (fields, size) = reflected(&$module, $name);
        assert_eq!(fields, offsets!($ty, [$($field),*]), "{} and {}", $name, stringify!($ty));
        assert_eq!(size as usize, size_of::<$ty>(), "size of {}", $name);
    };
}

#[test]
fn structs_have_the_same_layout_on_both_sides() {
    for bellman in bellmans() {
        let shader = Shader::Bellman(bellman);
        let module = validated(shader.entry_point(), &shader.source());
        assert_same_layout!(
            module,
            "Step",
            Step,
            [remaining, pieces, first_piece, pieces_before, first_range]
        );
        let scale_size = if bellman.is_f64() {
            assert_same_layout!(module, "Scale", Scale64, [total, cap]);
            assert_same_layout!(module, "Member", Member64, [weight, entry]);
            size_of::<Scale64>()
        } else {
            assert_same_layout!(module, "Scale", Scale32, [unit, value_of_unit, cap]);
            assert_same_layout!(module, "Member", Member32, [weight, entry]);
            size_of::<Scale32>()
        };
        // The scale follows the header without a gap.
        let (mut fields, size) = reflected(&module, "Problem");
        let header = size_of::<Header>();
        assert_eq!(fields.pop(), Some(("scale".into(), header as u32)));
        assert_eq!(size as usize, header + scale_size);
        assert_eq!(
            fields,
            offsets!(
                Header,
                [
                    actions,
                    width,
                    horizon,
                    first_pair,
                    first_cost,
                    first_value,
                    first_sum,
                    sum_stride,
                    half,
                    cost_max
                ]
            )
        );
    }
}

#[test]
fn the_source_of_bounds_has_the_same_layout_on_both_sides() {
    let shape = BoundsShape {
        actions: 4,
        dimension: 2,
        inside: true,
    };
    let shader = Shader::Bounds { shape, contexts: 4 };
    let module = validated("bounds", &shader.source());
    assert_same_layout!(
        module,
        "Source",
        Source,
        [
            kind,
            entries,
            first_record,
            first_offer,
            first_pair,
            first_parameter,
            by_step,
            scale,
            coupled,
            first_reward
        ]
    );
}
