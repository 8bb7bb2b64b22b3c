//! Ordinary least squares: a line through points, and more terms by the normal equations.

use super::Interval;
use super::normal::quantile_of_t;

/// A line through points, and how well it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// Change of y for one unit of x.
    pub slope: f64,
    /// y where x is 0.
    pub intercept: f64,
    /// 95 % interval of the slope by Student's t; `None` of two points, or where all lie on the line's height without spread.
    pub interval: Option<Interval>,
    /// Points.
    pub n: usize,
}

/// The line of least squares; `None` unless x takes two values.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    reason = "numbers of points lie below 2^53"
)]
pub fn line(points: &[(f64, f64)]) -> Option<Line> {
    let n = points.len() as f64;
    let mean_x = points.iter().map(|(x, _)| x).sum::<f64>() / n;
    let mean_y = points.iter().map(|(_, y)| y).sum::<f64>() / n;
    let xx: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let xy: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    if points.len() < 2 || xx <= f64::EPSILON * n * mean_x * mean_x {
        return None;
    }
    let slope = xy / xx;
    let intercept = mean_y - slope * mean_x;
    let left: f64 = points
        .iter()
        .map(|(x, y)| (y - intercept - slope * x).powi(2))
        .sum();
    let interval = (points.len() > 2).then(|| {
        let error = (left / (n - 2.0) / xx).sqrt();
        let reach = quantile_of_t(n - 2.0, 0.975) * error;
        Interval {
            low: slope - reach,
            high: slope + reach,
        }
    });
    Some(Line {
        slope,
        intercept,
        interval,
        n: points.len(),
    })
}

/// Sums from which coefficients follow: X'X and X'y of some rows. Sums of two sets of rows add up.
#[derive(Debug, Clone, PartialEq)]
pub struct Normal {
    terms: usize,
    /// The lower triangle of X'X, row by row, then X'y.
    sums: Vec<f64>,
}

impl Normal {
    /// No row yet, and so many terms.
    #[must_use]
    pub fn new(terms: usize) -> Self {
        Self {
            terms,
            sums: vec![0.0; terms * (terms + 1) / 2 + terms],
        }
    }

    /// Adds a row: the values of the terms, and what they are to explain.
    ///
    /// # Panics
    /// The row has another number of terms.
    pub fn add(&mut self, row: &[f64], y: f64) {
        assert_eq!(row.len(), self.terms, "as many values as terms");
        let mut at = 0;
        for (i, a) in row.iter().enumerate() {
            for b in &row[..=i] {
                self.sums[at] += a * b;
                at += 1;
            }
        }
        for a in row {
            self.sums[at] += a * y;
            at += 1;
        }
    }

    /// Adds the rows of another set.
    pub fn join(&mut self, other: &Self) {
        for (sum, more) in self.sums.iter_mut().zip(&other.sums) {
            *sum += more;
        }
    }

    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// The coefficients, by Cholesky's decomposition; `None` where the terms do not determine them.
    #[must_use]
    pub fn solve(&self) -> Option<Vec<f64>> {
        let n = self.terms;
        let at = |i: usize, j: usize| i * (i + 1) / 2 + j;
        let mut l = self.sums[..at(n, 0)].to_vec();
        for i in 0..n {
            for j in 0..=i {
                let mut value = l[at(i, j)];
                for k in 0..j {
                    value -= l[at(i, k)] * l[at(j, k)];
                }
                if i == j {
                    if value <= 1e-10 * self.sums[at(i, i)].abs() || value.is_nan() {
                        return None;
                    }
                    l[at(i, i)] = value.sqrt();
                } else {
                    l[at(i, j)] = value / l[at(j, j)];
                }
            }
        }
        let mut b = self.sums[at(n, 0)..].to_vec();
        for i in 0..n {
            for k in 0..i {
                b[i] -= l[at(i, k)] * b[k];
            }
            b[i] /= l[at(i, i)];
        }
        for i in (0..n).rev() {
            for k in i + 1..n {
                b[i] -= l[at(k, i)] * b[k];
            }
            b[i] /= l[at(i, i)];
        }
        Some(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 6] = [0.3, 1.1, 1.9, 2.4, 3.0, 3.8];
    const Y: [f64; 6] = [4.1, 4.3, 4.0, 4.6, 4.5, 4.9];

    fn near(found: f64, wanted: f64) -> bool {
        (found - wanted).abs() < 1e-7
    }

    #[test]
    fn a_line_is_that_of_scipy() {
        // scipy.stats.linregress, and scipy.stats.t.ppf(0.975, 4) for the interval.
        let points: Vec<(f64, f64)> = X.into_iter().zip(Y).collect();
        let line = line(&points).unwrap();
        let interval = line.interval.unwrap();
        assert!(near(line.slope, 0.213_179_095_2), "{line:?}");
        assert!(near(line.intercept, 3.955_876_884_9), "{line:?}");
        assert!(near(interval.low, -0.001_712_288_3), "{line:?}");
        assert!(near(interval.high, 0.428_070_478_8), "{line:?}");
        assert_eq!(super::line(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(super::line(&points[..2]).unwrap().interval, None);
    }

    #[test]
    fn coefficients_are_those_of_numpy_and_sums_add_up() {
        // numpy.linalg.lstsq of [1, x, x²].
        let mut halves = [Normal::new(3), Normal::new(3)];
        for (place, (x, y)) in X.into_iter().zip(Y).enumerate() {
            halves[place % 2].add(&[1.0, x, x * x], y);
        }
        let [mut all, other] = halves;
        all.join(&other);
        let found = all.solve().unwrap();
        for (found, wanted) in found
            .iter()
            .zip([4.154_624_27, -0.076_095_68, 0.071_048_09])
        {
            assert!((found - wanted).abs() < 1e-7, "{found} for {wanted}");
        }
        let mut twice = Normal::new(2);
        twice.add(&[1.0, 1.0], 2.0);
        twice.add(&[2.0, 2.0], 3.0);
        assert_eq!(twice.solve(), None);
    }
}
