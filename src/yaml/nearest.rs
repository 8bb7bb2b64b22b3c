/// The name most like `wanted`, if any is near enough to be what was meant.
///
/// Near is a Jaro-Winkler similarity of at least 0.8, or one name standing inside the other.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    names
        .into_iter()
        .map(|name| {
            let lower = name.to_lowercase();
            let inside = wanted.len() > 2 && (lower.contains(&wanted) || wanted.contains(&lower));
            let likeness = strsim::jaro_winkler(&wanted, &lower);
            (if inside { likeness.max(0.8) } else { likeness }, name)
        })
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_finds_its_name_and_nonsense_finds_none() {
        let names = ["classic", "thinking", "random", "ticket", "baseline"];
        assert_eq!(nearest("clasic", names), Some("classic"));
        assert_eq!(nearest("think", names), Some("thinking"));
        assert_eq!(nearest("zzz", names), None);
    }
}
