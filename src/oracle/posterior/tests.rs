//! Rows are merged.

use super::*;
use crate::task::{ApplicationSpec, Context, KernelSpec, TaskSpec};

/// 20 contexts and 2 prices: 40 pairs, whatever the number of observations.
#[test]
fn rows_stop_growing_on_finite_contexts() {
    let values: Vec<Vec<f64>> = (0..20).map(|i| vec![f64::from(i) / 20.0]).collect();
    let prices = vec![1.0, 2.0];
    let task = TaskSpec::new(2, 1, ApplicationSpec::Pricing { prices }, 1);
    let spec = KernelSpec {
        nu: None,
        length: vec![0.3, 1.0],
    };
    let kernel = spec.check("kernel", 2).unwrap();
    let mut posterior = Posterior::new(&task.check().unwrap(), kernel, 0.5);
    let mut data = LabeledData::new(1);
    for n in 0..3000usize {
        let context = Context {
            step: 0,
            features: &values[(n * 7) % 20],
            point: None,
        };
        data.push(&context, 1 + (n / 20) % 2, n % 3 == 0);
        if n % 10 == 9 {
            posterior.append(&data);
            assert!(
                posterior.factor.len() <= 60,
                "{n}: {}",
                posterior.factor.len()
            );
        }
    }
    assert_eq!((posterior.len(), posterior.totals.len()), (3000, 40));
    let count: f64 = posterior.totals.iter().map(|labels| labels.count).sum();
    assert_eq!(count, 3000.0);
}
