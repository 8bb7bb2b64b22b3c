//! Whether a reply declines.

use std::sync::LazyLock;

use regex::Regex;

static DECLINES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi)
        \b(?:can(?:no|')?\s?t|can\snot|could\s?n't|could\snot|won't|will\snot|unable\sto|not\sable\sto|am\snot\sin\sa\sposition\sto)\b
            [^.\n]{0,40}\b(?:estimate|provide|give|answer|determine|help|assist|say|offer|comply|fulfil|fulfill|tell|know|calculate|guess|share|make)
        |\bi'?\s?a?m\ssorry\b|\bi\sapologi[sz]e\b|\bi\smust\sdecline\b|\bi\srefuse\b|\bas\san\sai\b
        |\b(?:do\snot|don't)\shave\s(?:access|enough|sufficient|any|the|reliable|real-time)
        |\b(?:impossible|not\spossible)\sto\s(?:estimate|say|know|determine|give|provide|answer)
        |\bdecline\sto\s(?:answer|estimate|give|provide)
        |\bnot\senough\s(?:information|data)|\binsufficient\s(?:information|data)|\bno\sestimate\s(?:can|possible|is)
        |\btut\smir\sleid\b|\bkann\sich\snicht\b|\bich\skann\s[^.\n]{0,40}\bnicht\b
        |\bje\sne\speux\spas\b|\bd[ée]sol[ée]e?\b|\blo\ssiento\b|\bno\spuedo\b|\bnão\sposso\b
        |对不起|抱歉|无法|申し訳
        ",
    )
    .expect("a literal pattern")
});

/// Whether the reply says that it gives no answer.
pub(super) fn declines(text: &str) -> bool {
    DECLINES.is_match(text)
}

/// A value that a hedge leads to: "…, but around 225", "; a reasonable estimate would be about 225".
static HEDGED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)[,;:.\n—–][^.;\n]{0,60}\b(?:about|around|roughly|approximately|estimate (?:is|would be)|guess (?:is|would be))\s+(?:about\s+|around\s+)?(\$?[0-9])",
    )
    .expect("a literal pattern")
});

/// Where the value of a hedged reply begins, if there is just one such place.
pub(super) fn hedged_value(text: &str) -> Option<usize> {
    let mut places = HEDGED.captures_iter(text).filter_map(|hit| hit.get(1));
    let first = places.next()?;
    places.next().is_none().then_some(first.start())
}
