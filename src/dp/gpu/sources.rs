//! Where the bounds of a batch come from: fitted parameters, rewards and costs, as `ellipsoid.wgsl` reads them.

use super::buffers::{Part, Slot};
use super::cut::Cut;
use super::device::Device;
use super::resident::Resident;
use super::singles;
use super::structs::Source;
use crate::dp::{BoundParameters, Link, PlanRequest};

/// The rewards of single contexts by action in units of r_max (for an auction, what is added to theta - the lowest bid),
/// then their costs.
fn rewards_and_costs(request: &PlanRequest) -> Vec<f32> {
    let sample = request.sample;
    let lowest = singles::lowest_bid(sample).unwrap_or(0.0);
    let rewards = sample.single_rewards().unwrap_or(&[]).iter();
    let rewards = rewards.map(|reward| ((reward + lowest) / request.reward_scale()) as f32);
    let costs = sample.single_cost_rows().iter();
    rewards
        .chain(costs.map(|row| sample.distinct_costs()[*row as usize] as f32))
        .collect()
}

/// Writes the sources and their parameters; returns the parts to bind.
pub fn write_sources(
    device: &mut Device,
    known: Option<&Resident>,
    requests: &[PlanRequest],
    parameters: &[BoundParameters],
    cut: &Cut,
) -> [Part; 2] {
    let mut numbers: Vec<f32> = Vec::new();
    let mut sources = Vec::with_capacity(requests.len());
    for (i, (request, parameters)) in requests.iter().zip(parameters).enumerate() {
        let [first_record, first_offer] = known.map_or([0, 0], |known| known.records_and_offers(i));
        let first_reward = numbers.len() as u32;
        numbers.extend(rewards_and_costs(request));
        let mut source = Source {
            entries: request.sample.shared() as u32,
            first_record,
            first_offer,
            first_pair: cut.places[i].first_pair,
            first_parameter: numbers.len() as u32,
            first_reward,
            ..Source::default()
        };
        match parameters {
            BoundParameters::Armed {
                bounds, by_step, ..
            } => {
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
                let all = ellipsoid.action_values.iter().chain(&ellipsoid.tolerance);
                let all = all.chain(&ellipsoid.mu).chain(&ellipsoid.factor);
                let all = all.chain(ellipsoid.limits.iter().flatten());
                numbers.extend(all.map(|x| *x as f32));
            }
        }
        sources.push(source);
    }
    let inputs: [(Slot, &[u8]); 2] = [
        (Slot::Sources, bytemuck::cast_slice(&sources)),
        (Slot::Parameters, bytemuck::cast_slice(&numbers)),
    ];
    inputs.map(|(slot, bytes)| {
        device.write(slot, bytes, 0);
        Part::first(slot, bytes.len() as u64)
    })
}
