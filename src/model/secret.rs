/// Whether a text looks like a key rather than the name of the variable that holds it.
///
/// Knows the prefixes that vendors give their keys; anything else long that mixes letters and digits counts too.
#[must_use]
pub fn looks_like_key(text: &str) -> bool {
    let text = text.trim();
    if has_key_prefix(text) {
        return true;
    }
    let plain = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let digits = text.chars().filter(char::is_ascii_digit).count();
    let upper = text.chars().any(|c| c.is_ascii_uppercase());
    let lower = text.chars().any(|c| c.is_ascii_lowercase());
    plain && text.len() >= 32 && digits >= 4 && upper && lower
}

/// Whether a text begins as vendors begin their keys.
pub(super) fn has_key_prefix(text: &str) -> bool {
    const PREFIXES: [&str; 12] = [
        "sk-", "sk_", "xai-", "AIza", "gsk_", "hf_", "pplx-", "r8_", "tgp_", "ghp_", "glpat-",
        "Bearer ",
    ];
    let text = text.trim();
    text.len() >= 12 && PREFIXES.iter().any(|prefix| text.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::looks_like_key;

    #[test]
    fn keys_are_known_and_names_are_not() {
        for key in [
            "sk-proj-abc123DEF456",
            "AIzaSyA-123456789",
            "gsk_0123456789ab",
            "Zk3Jd92lQpXm5RtYv8BnWc1HsGf7UeAo",
        ] {
            assert!(looks_like_key(key), "{key}");
        }
        for name in [
            "OPENAI_API_KEY",
            "qwen/qwen3-next-80b-a3b-instruct",
            "grok-4.20-0309-non-reasoning",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ] {
            assert!(!looks_like_key(name), "{name}");
        }
    }
}
