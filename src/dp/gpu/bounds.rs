//! Plans whose bounds are evaluated on the adapter, from contexts that stay there.

use super::bindings::{Launch, Part, Slot};
use super::cut::Cut;
use super::device::Device;
use super::kernel::Shader;
use super::layout::Upload;
use super::limits::{Limits, Size};
use super::resident::{Resident, Update};
use super::structs::Source;
use super::{Gpu, limits, single_precision, solve};
use crate::dp::{
    BackendError, BoundParameters, Coefficients, Link, PlanRequest, Problem, RawTable, Traffic,
};

/// Threads in a workgroup of `append.wgsl`.
const THREADS: u32 = 64;

impl Gpu {
    /// Plans with bounds evaluated on the adapter. `None` where that cannot be done: an oracle that is not a function of
    /// parameters or whose numbers are beyond 32-bit floats, 64-bit shaders, or samples that do not fit together or are not
    /// made of rows.
    pub(super) async fn plan_resident(
        &mut self,
        requests: &[PlanRequest<'_>],
    ) -> Result<Option<Vec<RawTable>>, BackendError> {
        let parameters: Option<Vec<BoundParameters>> = requests
            .iter()
            .map(|request| request.source.parameters())
            .collect();
        let Some(parameters) = parameters.filter(|p| !p.is_empty() && !self.f64) else {
            return Ok(None);
        };
        let shape = |r: &PlanRequest| (r.sample.actions(), r.sample.dimension());
        let (actions, dimension) = shape(&requests[0]);
        let contexts = self.adapter.contexts_per_thread();
        let Some(shader) = Shader::bounds(actions, dimension, contexts) else {
            return Ok(None);
        };
        let fits = |r: &PlanRequest| shape(r) == (actions, dimension) && r.sample.is_made_of_rows();
        let mut pairs = requests.iter().zip(&parameters);
        let safe = pairs.all(|(r, p)| fits(r) && single_precision::is_enough(r, p));
        if !safe {
            return Ok(None);
        }
        let none = Coefficients::default();
        let problems: Vec<Problem> = requests.iter().map(|request| request.with(&none)).collect();
        let kernel = self.kernel_for(&problems).await?;
        let sizes: Vec<Size> = problems.iter().map(Size::of).collect();
        if limits::groups(&sizes, kernel, &self.limits).len() > 1 {
            return Ok(None);
        }
        let cut = Cut::new(&sizes, kernel, &self.limits)?;
        let known = self.resident.take();
        match Resident::update(known, requests, kernel, &self.limits) {
            Some((known, update)) if !cut.moving => {
                let tables = self
                    .run_resident(shader, &known, &update, cut, requests, &parameters)
                    .await?;
                self.resident = Some(known);
                Ok(Some(tables))
            }
            _ => Ok(None),
        }
    }

    /// Brings the adapter up to date, evaluates bounds there and solves.
    async fn run_resident(
        &mut self,
        bounds: Shader,
        known: &Resident,
        update: &Update,
        mut cut: Cut,
        requests: &[PlanRequest<'_>],
        parameters: &[BoundParameters],
    ) -> Result<Vec<RawTable>, BackendError> {
        let none = Coefficients::default();
        let problems: Vec<Problem> = requests.iter().map(|request| request.with(&none)).collect();
        for (i, place) in cut.places.iter_mut().enumerate() {
            *place = known.place(i, *place);
        }
        let members: Vec<Vec<[u32; 2]>> = requests
            .iter()
            .enumerate()
            .map(|(i, r)| known.members(i, r.sample))
            .collect();
        let upload = Upload::of_resident(&problems, &cut, &members);
        let append = Shader::Append { threads: THREADS };
        let contexts = self.adapter.contexts_per_thread();
        let (limits, poison) = (&self.limits, self.poison);
        let traffic = &mut self.traffic;
        let bytes = self
            .device
            .guarded(async |device: &mut Device| {
                device.compile(append);
                device.compile(bounds);
                let mut parts = solve::small_inputs(device, &cut, &upload, limits, traffic);
                let words = write_resident(device, known, update, limits, traffic);
                let parameter_bytes =
                    write_sources(device, known, requests, parameters, &cut, limits, traffic);
                let resident_bytes = 4 * known.sections.end as u64;
                let coefficient_bytes = 8 * known.pairs() as u64;
                device.reserve(Slot::Coefficients, coefficient_bytes, limits.buffer_bytes);
                if poison {
                    solve::poison(device, &cut);
                    device.write(Slot::Coefficients, &vec![0xff; coefficient_bytes as usize]);
                }
                let section = |from: usize, to: usize| Part {
                    slot: Slot::Resident,
                    offset: 4 * from as u64,
                    size: 4 * (to - from).max(64) as u64,
                };
                let sections = known.sections;
                parts[Slot::Members as usize] = section(sections.members, sections.costs);
                parts[Slot::Coefficients as usize] =
                    solve::whole(Slot::Coefficients, coefficient_bytes);
                parts[Slot::Costs as usize] = section(sections.costs, sections.records);
                let bound = device.bind(Shader::Bellman(cut.kernel), &parts);
                let all = solve::whole(Slot::Resident, resident_bytes);
                let bound_append = (words > 0).then(|| {
                    let size = 8 * (u64::from(words) + 1);
                    device.bind(append, &[solve::whole(Slot::Words, size.max(256)), all])
                });
                let source_bytes = (size_of::<Source>() * requests.len()) as u64;
                let bound_bounds = device.bind(
                    bounds,
                    &[
                        solve::whole(Slot::Sources, source_bytes.max(256)),
                        solve::whole(Slot::Parameters, parameter_bytes.max(256)),
                        all,
                        solve::whole(Slot::Coefficients, coefficient_bytes),
                    ],
                );
                let launch = |shader, bound, groups| Launch {
                    shader,
                    bound,
                    offsets: Vec::new(),
                    groups,
                };
                let mut before = Vec::new();
                if let Some(bound) = &bound_append {
                    before.push(launch(append, bound, [words.div_ceil(THREADS), 1, 1]));
                }
                let most = requests
                    .iter()
                    .map(|r| r.sample.len() as u32)
                    .max()
                    .unwrap_or(0);
                let per_group = bounds.threads() * contexts;
                let groups = [most.div_ceil(per_group).max(1), 1, requests.len() as u32];
                before.push(launch(bounds, &bound_bounds, groups));
                solve::run(device, &cut, &upload, &bound, before, traffic).await
            })
            .await?;
        Ok(solve::tables(&problems, &cut, &bytes))
    }
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

/// Writes the sources and their parameters; returns the bytes of the latter.
fn write_sources(
    device: &mut Device,
    known: &Resident,
    requests: &[PlanRequest],
    parameters: &[BoundParameters],
    cut: &Cut,
    limits: &Limits,
    traffic: &mut Traffic,
) -> u64 {
    let mut numbers: Vec<f32> = Vec::new();
    let mut sources = Vec::with_capacity(requests.len());
    for (i, (request, parameters)) in requests.iter().zip(parameters).enumerate() {
        let [first_record, first_offer] = known.records_and_offers(i);
        let mut source = Source {
            kind: 0,
            entries: request.sample.len() as u32,
            first_record,
            first_offer,
            first_pair: cut.places[i].first_pair,
            first_parameter: numbers.len() as u32,
            by_step: 0,
            scale: 0.0,
            coupled: 0,
        };
        match parameters {
            BoundParameters::Armed { bounds, by_step } => {
                source.by_step = u32::from(*by_step);
                numbers.extend(bounds.iter().flatten().map(|x| *x as f32));
            }
            BoundParameters::Ellipsoid(ellipsoid) => {
                source.kind = match (ellipsoid.link, &ellipsoid.limits) {
                    (_, Some(_)) => 3,
                    (Link::Logistic, None) => 1,
                    (Link::Linear, None) => 2,
                };
                source.scale = ellipsoid.scale as f32;
                source.coupled = u32::from(ellipsoid.coupled);
                let all = ellipsoid.action_values.iter().chain(&ellipsoid.mu);
                let all = all.chain(&ellipsoid.factor);
                let all = all.chain(ellipsoid.limits.iter().flatten());
                numbers.extend(all.map(|x| *x as f32));
            }
        }
        sources.push(source);
    }
    let bytes: &[u8] = bytemuck::cast_slice(&sources);
    solve::write(
        device,
        Slot::Sources,
        bytes,
        bytes.len() as u64,
        limits,
        traffic,
    );
    let bytes: &[u8] = bytemuck::cast_slice(&numbers);
    let size = bytes.len() as u64;
    solve::write(device, Slot::Parameters, bytes, size, limits, traffic);
    size
}
