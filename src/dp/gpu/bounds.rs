//! Plans whose bounds are evaluated on the adapter, from contexts that stay there.

use super::bindings::{Launch, Part, Slot};
use super::cut::{self, Cut};
use super::device::Device;
use super::kernel::Shader;
use super::layout::Upload;
use super::limits::{Limits, Size};
use super::resident::{Resident, Update};
use super::singles::{SingleStore, Write};
use super::sources::write_sources;
use super::structs::Source;
use super::{Gpu, limits, single_precision, solve};
use crate::dp::{
    BackendError, BoundParameters, Coefficients, PlanRequest, Problem, RawTable, Traffic,
};

/// Threads in a workgroup of `append.wgsl`.
const THREADS: u32 = 64;

/// More numbers of single contexts than this are written where they belong, region by region; fewer go up together and are
/// put in place by a dispatch.
const MOST_WORDS: usize = 1 << 16;

/// What the adapter holds of the samples of a batch, brought up to date on this side.
struct Held {
    shared: Option<(Resident, Update)>,
    singles: Option<(SingleStore, Vec<Write>)>,
}

impl Gpu {
    /// Plans with bounds evaluated on the adapter. Says why where that cannot be done: an oracle that is not a function of
    /// parameters or whose numbers are beyond 32-bit floats, 64-bit shaders, or samples that do not fit together or are not
    /// made of rows.
    pub(super) async fn plan_resident(
        &mut self,
        requests: &[PlanRequest<'_>],
    ) -> Result<Result<Vec<RawTable>, String>, BackendError> {
        if requests.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let (parameters, inside) = match self.parameters_of(requests) {
            Ok(parameters) => parameters,
            Err(reason) => return Ok(Err(reason)),
        };
        let none = Coefficients::default();
        let problems: Vec<Problem> = requests.iter().map(|request| request.with(&none)).collect();
        let kernel = self.kernel_for(&problems).await?;
        let sizes: Vec<Size> = problems.iter().map(Size::of_shared).collect();
        let has_shared = sizes.iter().any(|size| size.entries > 0);
        let has_singles = requests.iter().any(|r| r.sample.len() > r.sample.shared());
        if has_singles && !kernel.is_narrow() {
            return Ok(Err(
                "costs are too many for shaders that evaluate bounds".into()
            ));
        }
        let cut = Cut::new(&sizes, kernel, &self.limits)?;
        if limits::groups(&sizes, kernel, &self.limits).len() > 1 || cut.moving {
            return Ok(Err("the shared contexts do not fit a binding".into()));
        }
        let mut held = Held {
            shared: None,
            singles: None,
        };
        if has_shared {
            let known = self.resident.take();
            held.shared = Resident::update(known, requests, kernel, &self.limits);
            if held.shared.is_none() {
                return Ok(Err("the shared contexts do not fit a binding".into()));
            }
        }
        if has_singles || !has_shared {
            match SingleStore::update(self.singles.take(), requests, &self.limits) {
                Ok(singles) => held.singles = Some(singles),
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let tables = self
            .run_resident(&held, cut, requests, &parameters, inside)
            .await?;
        self.resident = held.shared.map(|(known, _)| known);
        self.singles = held.singles.map(|(store, _)| store);
        Ok(Ok(tables))
    }

    /// The parameters of all requests, and whether one has its bonus inside the link; or why shaders cannot evaluate them.
    fn parameters_of(
        &self,
        requests: &[PlanRequest],
    ) -> Result<(Vec<BoundParameters>, bool), String> {
        if self.f64 {
            return Err("64-bit shaders read tables".into());
        }
        let shape = |r: &PlanRequest| {
            let sample = r.sample;
            (
                sample.actions(),
                sample.dimension(),
                sample.bids().is_some(),
            )
        };
        let (actions, dimension, auction) = shape(&requests[0]);
        if actions > 64 || dimension > 16 {
            return Err("more than 64 actions or 16 features".into());
        }
        if requests
            .iter()
            .any(|r| shape(r) != (actions, dimension, auction))
        {
            return Err("problems of different shapes in one batch".into());
        }
        if requests.iter().any(|r| !r.sample.is_made_of_rows()) {
            return Err("contexts are not made of rows".into());
        }
        let parameters: Option<Vec<BoundParameters>> = requests
            .iter()
            .map(|request| request.source.parameters())
            .collect();
        let parameters = parameters.ok_or("the bounds are no function of a few parameters")?;
        let mut pairs = requests.iter().zip(&parameters);
        if !pairs.all(|(r, p)| single_precision::is_enough(r, p)) {
            return Err("numbers are beyond 32-bit floats".into());
        }
        let inside = parameters.iter().any(|p| match p {
            BoundParameters::Armed { .. } => false,
            BoundParameters::Ellipsoid(ellipsoid) => ellipsoid.limits.is_some(),
        });
        Ok((parameters, inside))
    }

    /// Brings the adapter up to date, evaluates bounds there and solves.
    async fn run_resident(
        &mut self,
        held: &Held,
        mut cut: Cut,
        requests: &[PlanRequest<'_>],
        parameters: &[BoundParameters],
        inside: bool,
    ) -> Result<Vec<RawTable>, BackendError> {
        let none = Coefficients::default();
        let problems: Vec<Problem> = requests.iter().map(|request| request.with(&none)).collect();
        let sample = requests[0].sample;
        let (actions, dimension) = (sample.actions(), sample.dimension());
        let known = held.shared.as_ref().map(|(known, _)| known);
        if let Some(known) = known {
            for (i, place) in cut.places.iter_mut().enumerate() {
                *place = known.place(i, *place);
            }
        }
        let members: Option<Vec<Vec<[u32; 2]>>> = known.map(|known| {
            let requests = requests.iter().enumerate();
            requests.map(|(i, r)| known.members(i, r.sample)).collect()
        });
        let store = held.singles.as_ref().map(|(store, _)| store);
        let pieces = single_pieces(&cut, requests, &self.limits);
        let upload = Upload::of_resident(
            &problems,
            &mut cut,
            members.as_deref(),
            store.map(|store| (store, pieces)),
            &self.limits,
        )?;
        let append = Shader::Append { threads: THREADS };
        let contexts = self.adapter.contexts_per_thread();
        let bounds =
            Shader::bounds(actions, dimension, inside, contexts).filter(|_| held.shared.is_some());
        let plan = held.singles.as_ref().map(|_| Shader::Plan {
            kernel: cut.kernel,
            actions: actions as u32,
            dimension: dimension as u32,
            inside,
            auction: sample.bids().is_some(),
        });
        let (limits, poison) = (&self.limits, self.poison);
        let traffic = &mut self.traffic;
        let bytes = self
            .device
            .guarded(async |device: &mut Device| {
                let shaders = [Some(append), bounds, plan];
                shaders
                    .into_iter()
                    .flatten()
                    .for_each(|s| device.compile(s));
                let parts = solve::small_inputs(device, &cut, &upload, limits, traffic);
                let known = held.shared.as_ref().map(|(known, _)| known);
                let parameter_bytes =
                    write_sources(device, known, requests, parameters, &cut, limits, traffic);
                if poison {
                    solve::poison(device, &cut);
                }
                let source_bytes = (size_of::<Source>() * requests.len()) as u64;
                let sources = solve::whole(Slot::Sources, source_bytes.max(256));
                let numbers = solve::whole(Slot::Parameters, parameter_bytes.max(256));
                let mut bound = Vec::new();
                if let (Some((known, update)), Some(bounds)) = (&held.shared, bounds) {
                    let words = write_resident(device, known, update, limits, traffic);
                    let coefficient_bytes = 8 * known.pairs() as u64;
                    device.reserve(Slot::Coefficients, coefficient_bytes, limits.buffer_bytes);
                    if poison {
                        device.write(Slot::Coefficients, &vec![0xff; coefficient_bytes as usize]);
                    }
                    let coefficients = solve::whole(Slot::Coefficients, coefficient_bytes);
                    let all = solve::whole(Slot::Resident, 4 * known.sections.end as u64);
                    if words > 0 {
                        let size = 8 * (u64::from(words) + 1);
                        let words_part = solve::whole(Slot::Words, size.max(256));
                        let group = device.bind(append, &[words_part, all]);
                        bound.push((append, group, [words.div_ceil(THREADS), 1, 1]));
                    }
                    let most = requests.iter().map(|r| r.sample.shared() as u32).max();
                    let per_group = bounds.threads() * contexts;
                    let groups = most.unwrap_or(0).div_ceil(per_group).max(1);
                    let group = device.bind(bounds, &[sources, numbers, all, coefficients]);
                    bound.push((bounds, group, [groups, 1, requests.len() as u32]));
                }
                if let Some((store, writes)) = &held.singles {
                    let words = write_singles(device, store, writes, limits, traffic);
                    if words > 0 {
                        let size = 8 * (u64::from(words) + 1);
                        let words_part = solve::whole(Slot::SingleWords, size.max(256));
                        let all = solve::whole(Slot::Singles, store.bytes().max(256));
                        let group = device.bind(append, &[words_part, all]);
                        bound.push((append, group, [words.div_ceil(THREADS), 1, 1]));
                    }
                }
                let tables = known.map(|known| {
                    let mut parts = parts;
                    let section = |from: usize, to: usize| Part {
                        slot: Slot::Resident,
                        offset: 4 * from as u64,
                        size: 4 * (to - from).max(64) as u64,
                    };
                    let sections = known.sections;
                    parts[Slot::Members as usize] = section(sections.members, sections.costs);
                    parts[Slot::Coefficients as usize] =
                        solve::whole(Slot::Coefficients, 8 * known.pairs() as u64);
                    parts[Slot::Costs as usize] = section(sections.costs, sections.records);
                    let shader = Shader::Bellman(cut.kernel);
                    (shader, device.bind(shader, &parts))
                });
                let singles = held.singles.as_ref().zip(plan).map(|((store, _), plan)| {
                    let mut parts = parts;
                    parts[Slot::Members as usize] =
                        solve::whole(Slot::Singles, store.shown(limits));
                    parts[Slot::Coefficients as usize] = sources;
                    parts[Slot::Costs as usize] = numbers;
                    (plan, device.bind(plan, &parts))
                });
                let before = bound.iter().map(|(shader, bound, groups)| Launch {
                    shader: *shader,
                    bound,
                    offsets: Vec::new(),
                    groups: *groups,
                });
                let before = before.collect();
                let tables = tables.as_ref().map(|(shader, bound)| (*shader, bound));
                let singles = singles.as_ref().map(|(shader, bound)| (*shader, bound));
                solve::run(device, &cut, &upload, tables, singles, before, traffic).await
            })
            .await?;
        Ok(solve::tables(&problems, &cut, &bytes))
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
    let pieces = cut::pieces(cut.kernel, limits, others, longest, actions);
    pieces.min(u64::from(limits.workgroups)) as u32
}

/// Brings the single contexts up to date; returns how many words `append` has to place.
fn write_singles(
    device: &mut Device,
    store: &SingleStore,
    writes: &[Write],
    limits: &Limits,
    traffic: &mut Traffic,
) -> u32 {
    let room = store.bytes() + store.shown(limits);
    device.reserve(Slot::Singles, room, limits.buffer_bytes);
    let numbers: usize = writes.iter().map(|write| write.numbers.len()).sum();
    if numbers > MOST_WORDS || store.bytes() > limits.binding_bytes {
        for Write { place, numbers } in writes {
            let bytes: &[u8] = bytemuck::cast_slice(numbers);
            device.write_at(Slot::Singles, 4 * *place as u64, bytes);
            traffic.bytes_up += bytes.len() as u64;
        }
        return 0;
    }
    if numbers == 0 {
        return 0;
    }
    let mut words = vec![[0, numbers as u32]];
    for Write { place, numbers } in writes {
        let places = *place as u32..;
        words.extend(places.zip(numbers).map(|(place, x)| [place, x.to_bits()]));
    }
    let bytes: &[u8] = bytemuck::cast_slice(&words);
    let size = bytes.len() as u64;
    solve::write(device, Slot::SingleWords, bytes, size, limits, traffic);
    numbers as u32
}

/// Brings the resident data up to date; returns how many words `append` has to place.
fn write_resident(
    device: &mut Device,
    known: &Resident,
    update: &Update,
    limits: &Limits,
    traffic: &mut Traffic,
) -> u32 {
    let room = 4 * known.sections.end as u64;
    match update {
        Update::Everything(image) => {
            let bytes = bytemuck::cast_slice(image);
            solve::write(device, Slot::Resident, bytes, room, limits, traffic);
            0
        }
        Update::Words(words) => {
            let mut counted = Vec::with_capacity(words.len() + 1);
            counted.push([0, words.len() as u32]);
            counted.extend_from_slice(words);
            let bytes: &[u8] = bytemuck::cast_slice(&counted);
            let size = bytes.len() as u64;
            solve::write(device, Slot::Words, bytes, size, limits, traffic);
            words.len() as u32
        }
    }
}
