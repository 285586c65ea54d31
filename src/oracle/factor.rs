//! Cholesky factors of matrices that are positive definite up to rounding.

use nalgebra::{Cholesky, DMatrix, Dyn};

/// The factor of a symmetric matrix with a positive ridge. If the ridge is lost to rounding (long collinear features), as
/// little as needed is added to the diagonal, from 1e-15 of its largest entry on.
pub(super) fn cholesky(matrix: DMatrix<f64>) -> Cholesky<f64, Dyn> {
    if let Some(factor) = Cholesky::new(matrix.clone()) {
        return factor;
    }
    let largest = matrix.diagonal().amax();
    let mut share = 1e-15;
    loop {
        let mut repaired = matrix.clone();
        for i in 0..repaired.nrows() {
            repaired[(i, i)] += share * largest;
        }
        if let Some(factor) = Cholesky::new(repaired) {
            return factor;
        }
        assert!(share < 1.0, "a symmetric matrix of finite numbers");
        share *= 10.0;
    }
}

/// The inverse of the factor: for A = L L', |L^-1 x| is the norm of x in A^-1.
pub(super) fn lower_inverse(factor: &Cholesky<f64, Dyn>) -> DMatrix<f64> {
    let d = factor.l_dirty().nrows();
    factor
        .l()
        .solve_lower_triangular(&DMatrix::identity(d, d))
        .expect("the factor of a positive definite matrix has a positive diagonal")
}
