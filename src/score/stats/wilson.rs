use super::Interval;

/// 95 % Wilson score interval of a share (Wilson 1927, JASA 22, 209–212). Needs `n` above 0.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "counts lie below 2^53")]
pub fn wilson(hits: usize, n: usize) -> Interval {
    // 97.5 % quantile of the normal distribution.
    const Z: f64 = 1.959_963_984_540_054;
    let n = n as f64;
    let share = hits as f64 / n;
    let spread = Z * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    let center = share + Z * Z / (2.0 * n);
    let scale = 1.0 + Z * Z / n;
    Interval {
        low: ((center - spread) / scale).max(0.0),
        high: ((center + spread) / scale).min(1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::wilson;

    #[test]
    fn it_agrees_with_statsmodels() {
        // statsmodels.stats.proportion.proportion_confint(17, 20, method="wilson")
        let interval = wilson(17, 20);
        assert!((interval.low - 0.639_581).abs() < 1e-5, "{interval:?}");
        assert!((interval.high - 0.947_631).abs() < 1e-5, "{interval:?}");
        assert_eq!(wilson(20, 20).high, 1.0);
    }
}
