//! Plans whose bounds are evaluated on the adapter, from contexts that stay there.

use super::buffers::{Launch, Part, Slot};
use super::cut::{self, Cut};
use super::device::Device;
use super::layout::Upload;
use super::limits::{Limits, Size};
use super::resident::{Resident, Update};
use super::shader::{BoundsShape, Shader, THREADS};
use super::singles::{SingleStore, Write};
use super::sources::write_sources;
use super::{Gpu, limits, single_precision, solve};
use crate::dp::{BackendError, BoundParameters, Coefficients, PlanRequest, Problem, RawTable};

/// More numbers of single contexts than this are written directly, region by region; fewer go up together and `append.wgsl`
/// puts them in place.
const MOST_WORDS: usize = 1 << 16;

/// The samples of a batch on the adapter, with pending writes.
struct OnAdapter {
    shared: Option<(Resident, Update)>,
    singles: Option<(SingleStore, Vec<Write>)>,
}

impl Gpu {
    /// Plans with bounds evaluated on the adapter, or says why that is impossible: an oracle without parameters or with
    /// numbers beyond 32-bit floats, 64-bit shaders, or samples that do not fit or are not made of rows.
    pub(super) async fn plan_resident(
        &mut self,
        requests: &[PlanRequest<'_>],
    ) -> Result<Result<Vec<RawTable>, String>, BackendError> {
        if requests.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let (parameters, shape) = match self.parameters_of(requests) {
            Ok(parameters) => parameters,
            Err(reason) => return Ok(Err(reason)),
        };
        let none = Coefficients::default();
        let problems: Vec<Problem> = requests.iter().map(|request| request.with(&none)).collect();
        let bellman = self.bellman_for(&problems)?;
        let sizes: Vec<Size> = problems.iter().map(Size::of_shared).collect();
        let has_shared = sizes.iter().any(|size| size.entries > 0);
        let has_singles = requests.iter().any(|r| r.sample.len() > r.sample.shared());
        if has_singles && !bellman.is_narrow() {
            let reason = "the shaders that evaluate bounds take costs up to 4";
            return Ok(Err(reason.into()));
        }
        let limits = self.device.limits;
        let too_large = || Ok(Err("the shared contexts do not fit a binding".into()));
        let cut = Cut::new(&sizes, bellman, &limits)?;
        if limits::groups(&sizes, bellman, &limits).len() > 1 || cut.moving {
            return too_large();
        }
        let mut held = OnAdapter {
            shared: None,
            singles: None,
        };
        if has_shared {
            held.shared = Resident::update(self.resident.take(), requests, bellman, &limits);
            if held.shared.is_none() {
                return too_large();
            }
        }
        if has_singles || !has_shared {
            match SingleStore::update(self.singles.take(), requests, &limits) {
                Ok(singles) => held.singles = Some(singles),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let bytes = self.run_resident(&held, cut, requests, &problems, &parameters, shape);
        let tables = bytes.await?;
        self.resident = held.shared.map(|(known, _)| known);
        self.singles = held.singles.map(|(store, _)| store);
        Ok(Ok(tables))
    }

    /// The parameters of all requests and the shape of their bounds, or why shaders cannot evaluate them.
    fn parameters_of(
        &self,
        requests: &[PlanRequest],
    ) -> Result<(Vec<BoundParameters>, BoundsShape), String> {
        if self.f64 {
            return Err("64-bit shaders read tables".into());
        }
        let shape = |r: &PlanRequest| {
            let sample = r.sample;
            let auction = sample.bids().is_some();
            (sample.actions(), sample.dimension(), auction)
        };
        let first = shape(&requests[0]);
        let (actions, dimension, _) = first;
        if actions > 64 || dimension > 16 {
            return Err("more than 64 actions or 16 features".into());
        }
        if requests.iter().any(|r| shape(r) != first) {
            return Err("problems of different shapes in one batch".into());
        }
        if requests.iter().any(|r| !r.sample.is_made_of_rows()) {
            return Err("contexts are not made of rows".into());
        }
        let parameters = requests.iter().map(|request| request.source.parameters());
        let parameters: Option<Vec<BoundParameters>> = parameters.collect();
        let parameters = parameters.ok_or("the bounds are no function of a few parameters")?;
        let mut pairs = requests.iter().zip(&parameters);
        if !pairs.all(|(r, p)| single_precision::is_enough(r, p)) {
            return Err("numbers are beyond 32-bit floats".into());
        }
        let inside =
            |p: &BoundParameters| matches!(p, BoundParameters::Ellipsoid(e) if e.limits.is_some());
        let shape = BoundsShape {
            actions: actions as u32,
            dimension: dimension as u32,
            inside: parameters.iter().any(inside),
        };
        Ok((parameters, shape))
    }

    /// Updates the contexts on the adapter, evaluates bounds there and solves.
    async fn run_resident(
        &mut self,
        held: &OnAdapter,
        mut cut: Cut,
        requests: &[PlanRequest<'_>],
        problems: &[Problem<'_>],
        parameters: &[BoundParameters],
        shape: BoundsShape,
    ) -> Result<Vec<RawTable>, BackendError> {
        let known = held.shared.as_ref().map(|(known, _)| known);
        if let Some(known) = known {
            for (i, place) in cut.places.iter_mut().enumerate() {
                *place = known.place(i, *place);
            }
        }
        let members: Option<Vec<_>> = known.map(|known| {
            let requests = requests.iter().enumerate();
            requests.map(|(i, r)| known.members(i, r.sample)).collect()
        });
        let limits = self.device.limits;
        let pieces = single_pieces(&cut, requests, &limits);
        let singles = held.singles.as_ref().map(|(store, _)| (store, pieces));
        let upload = Upload::of_resident(problems, &mut cut, members.as_deref(), singles, &limits)?;
        let contexts = self.adapter.contexts_per_thread();
        let run = async |device: &mut Device| {
            let parts = solve::small_inputs(device, &cut, &upload);
            let [sources, numbers] = write_sources(device, known, requests, parameters, &cut);
            let mut before = Vec::new();
            let mut tables = None;
            if let Some((known, update)) = &held.shared {
                let all = Part::first(Slot::Resident, 4 * known.sections.end as u64);
                match update {
                    Update::Everything(image) => {
                        device.write(Slot::Resident, bytemuck::cast_slice(image), 0);
                    }
                    Update::Words(words) => before.extend(append(device, Slot::Words, words, all)),
                }
                let coefficients = Part::first(Slot::Coefficients, 8 * known.pairs() as u64);
                device.reserve_output(Slot::Coefficients, coefficients.size);
                let most = requests.iter().map(|r| r.sample.shared() as u32).max();
                let groups = most.unwrap_or(0).div_ceil(THREADS * contexts).max(1);
                let shader = Shader::Bounds { shape, contexts };
                before.push(Launch {
                    bound: device.bind(shader, &[sources, numbers, all, coefficients]),
                    offsets: Vec::new(),
                    workgroups: [groups, 1, requests.len() as u32],
                });
                let mut parts = parts;
                parts[Slot::Members as usize] = known.sections.members();
                parts[Slot::Coefficients as usize] = coefficients;
                parts[Slot::Costs as usize] = known.sections.costs();
                tables = Some(device.bind(Shader::Bellman(cut.bellman), &parts));
            }
            let mut singles = None;
            if let Some((store, writes)) = &held.singles {
                before.extend(write_singles(device, store, writes));
                let shader = Shader::Plan {
                    bellman: cut.bellman,
                    shape,
                    auction: requests[0].sample.bids().is_some(),
                };
                let mut parts = parts;
                let window = Part::first(Slot::Singles, store.window_bytes(&limits));
                parts[Slot::Members as usize] = window;
                parts[Slot::Coefficients as usize] = sources;
                parts[Slot::Costs as usize] = numbers;
                singles = Some(device.bind(shader, &parts));
            }
            let (tables, singles) = (tables.as_ref(), singles.as_ref());
            solve::run(device, &cut, &upload, before, tables, singles).await
        };
        let bytes = self.device.guarded(run).await?;
        Ok(solve::tables(problems, &cut, &bytes))
    }
}

/// Pieces that the single contexts of a step are split into.
fn single_pieces(cut: &Cut, requests: &[PlanRequest], limits: &Limits) -> u32 {
    let lengths = requests.iter().flat_map(|r| {
        let steps = 0..r.sample.horizon();
        steps.map(|h| r.sample.step(h).singles.len() as u64)
    });
    let longest = lengths.max().unwrap_or(0);
    let sample = requests[0].sample;
    let phi = sample.dimension() + 1;
    // The loops over a context's features count as well.
    let actions = (sample.actions() + phi * (phi + 1)) as u64;
    let others = u64::from(cut.tiles) * requests.len() as u64;
    let pieces = cut::pieces(cut.bellman, limits, others, longest, actions);
    pieces.min(u64::from(limits.workgroups)) as u32
}

/// Uploads (place, word) pairs and returns the dispatch that writes them into `target`, unless there are none.
fn append(device: &mut Device, slot: Slot, words: &[[u32; 2]], target: Part) -> Option<Launch> {
    if words.is_empty() {
        return None;
    }
    let count = words.len() as u32;
    let counted = [&[[0, count]], words].concat();
    let bytes: &[u8] = bytemuck::cast_slice(&counted);
    device.write(slot, bytes, 0);
    let parts = [Part::first(slot, bytes.len() as u64), target];
    Some(Launch {
        bound: device.bind(Shader::Append, &parts),
        offsets: Vec::new(),
        workgroups: [count.div_ceil(THREADS), 1, 1],
    })
}

/// Writes new single contexts: many numbers directly, few by the returned dispatch.
fn write_singles(device: &mut Device, store: &SingleStore, writes: &[Write]) -> Option<Launch> {
    let limits = device.limits;
    device.reserve(Slot::Singles, store.bytes() + store.window_bytes(&limits));
    let numbers: usize = writes.iter().map(|write| write.numbers.len()).sum();
    if numbers > MOST_WORDS || store.bytes() > limits.binding_bytes {
        for Write { place, numbers } in writes {
            let bytes = bytemuck::cast_slice(numbers);
            device.write_at(Slot::Singles, 4 * *place as u64, bytes);
        }
        return None;
    }
    let words = writes.iter().flat_map(|Write { place, numbers }| {
        let places = *place as u32..;
        places.zip(numbers).map(|(place, x)| [place, x.to_bits()])
    });
    let words: Vec<[u32; 2]> = words.collect();
    let all = Part::first(Slot::Singles, store.bytes());
    append(device, Slot::SingleWords, &words, all)
}
