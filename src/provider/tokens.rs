//! One way to count tokens, whatever the server calls them.

use crate::domain::{TokenCounts, Tokens};

/// Counts as a server gives them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reported {
    pub(super) input: Option<u64>,
    pub(super) completion: Option<u64>,
    pub(super) reasoning: Option<u64>,
    pub(super) cached: Option<u64>,
    pub(super) total: Option<u64>,
}

/// Brings reported counts to ours: `output` holds everything that was generated, `reasoning` is its hidden part.
///
/// Servers differ in whether the completion count holds the reasoning; the total tells:
/// total = input + completion: it does; total = input + completion + reasoning: it does not;
/// a larger total with no name for the rest: the rest is hidden reasoning.
///
/// The second value says that input and output do not add up to the reported total all the same.
pub(super) fn normalise(reported: Reported) -> (TokenCounts, bool) {
    let Reported {
        input,
        completion,
        reasoning,
        cached,
        total,
    } = reported;
    let mut output = completion;
    let mut hidden = reasoning;
    if let Some(completion) = completion {
        let outside = match (input, total, reasoning) {
            (Some(input), Some(total), Some(reasoning)) if reasoning > 0 => {
                Some(total)
                    == input
                        .checked_add(completion)
                        .and_then(|sum| sum.checked_add(reasoning))
            }
            (_, None, Some(reasoning)) => reasoning > completion,
            _ => false,
        };
        if outside {
            output = Some(completion.saturating_add(reasoning.unwrap_or(0)));
        } else if let (Some(input), Some(total), None | Some(0)) = (input, total, reasoning)
            && total > input.saturating_add(completion)
        {
            output = Some(total - input);
            hidden = Some(total - input - completion);
        }
    }
    // Nothing was generated where the prompt is all there is.
    if output.is_none() && input.is_some() && input == total {
        output = Some(0);
    }
    let mismatch = match (input, output, total) {
        (Some(input), Some(output), Some(total)) => input.checked_add(output) != Some(total),
        _ => false,
    };
    let counts = TokenCounts {
        input: input.map(Tokens),
        output: output.map(Tokens),
        reasoning: hidden.map(Tokens),
        cached: cached.map(Tokens),
    };
    (counts, mismatch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(
        input: u64,
        completion: u64,
        reasoning: Option<u64>,
        total: Option<u64>,
    ) -> (u64, Option<u64>) {
        let (counts, mismatch) = normalise(Reported {
            input: Some(input),
            completion: Some(completion),
            reasoning,
            cached: None,
            total,
        });
        assert!(!mismatch);
        (
            counts.output.unwrap().0,
            counts.reasoning.map(|tokens| tokens.0),
        )
    }

    #[test]
    fn reasoning_is_counted_once_whoever_reports_it() {
        // Inside the completion, beside it, and unnamed.
        assert_eq!(counts(31, 120, Some(111), Some(151)), (120, Some(111)));
        assert_eq!(counts(32, 9, Some(94), Some(135)), (103, Some(94)));
        assert_eq!(counts(5, 18, None, Some(501)), (496, Some(478)));
        assert_eq!(counts(31, 9, None, Some(40)), (9, None));
        assert_eq!(counts(31, 9, Some(0), None), (9, Some(0)));
    }

    #[test]
    fn a_total_that_fits_nothing_is_flagged() {
        let (counts, mismatch) = normalise(Reported {
            input: Some(10),
            completion: Some(5),
            reasoning: Some(2),
            cached: None,
            total: Some(40),
        });
        assert_eq!(counts.output, Some(Tokens(5)));
        assert!(mismatch);
    }
}
