//! One cheap call to a model: whether it can be reached, and what it says of itself.

use std::collections::BTreeSet;

use chrono::Utc;

use super::backend::Http;
use super::learned::{Learned, Lesson};
use super::retry::{Action, action};
use crate::domain::{Conversation, ErrorClass, Parameter, Reply, Role, Usd};
use crate::model::Model;
use crate::provider::{Allowance, Call, ProviderError, allowances, read};

/// Most tokens of the reply; a model that thinks may need them for one word.
const LIMIT: u32 = 1024;

/// What a model answered, or why it did not.
#[derive(Debug, Clone, PartialEq)]
pub struct Probe {
    /// The reply to "say ok", or the failure.
    pub answer: Result<Reply, ProviderError>,
    /// What it cost by the price list.
    pub cost: Option<Usd>,
    /// Limits that the headers tell.
    pub limits: Vec<Allowance>,
    /// Parameters that the server refuses, or that its dialect does not have.
    pub dropped: BTreeSet<Parameter>,
}

impl Probe {
    /// Whether the server was there at all.
    #[must_use]
    pub fn reachable(&self) -> bool {
        match &self.answer {
            Ok(_) => true,
            Err(error) => error.http_status.is_some(),
        }
    }

    /// Whether the key was accepted; `None` if the call did not get so far.
    #[must_use]
    pub fn key_accepted(&self) -> Option<bool> {
        match &self.answer {
            Ok(_) => Some(true),
            Err(error) => match (error.class, error.http_status) {
                (ErrorClass::Auth, _) => Some(false),
                // Servers look at the key before they look at anything else.
                (
                    ErrorClass::BadParameter
                    | ErrorClass::NoModel
                    | ErrorClass::Quota
                    | ErrorClass::Rate
                    | ErrorClass::TooLong
                    | ErrorClass::Policy,
                    Some(_),
                ) => Some(true),
                _ => None,
            },
        }
    }
}

/// Makes the call. A refused parameter is left out and the call made again, as in a run.
pub async fn probe(model: &Model, http: &Http) -> Probe {
    let mut conversation = Conversation::default();
    conversation.say(Role::User, "Reply with the word ok and nothing else.");
    let mut asked = model.sampling.clone();
    asked.max_output_tokens = Some(asked.max_output_tokens.unwrap_or(LIMIT).min(LIMIT));
    let unsupported = <Parameter as strum::IntoEnumIterator>::iter()
        .filter(|parameter| asked.has(*parameter) && !http.dialect.supports(*parameter))
        .collect();
    let mut learned = Learned::new(model, unsupported);
    loop {
        let sampling = asked.without(&learned.dropped);
        let request = http.dialect.request(&Call {
            base_url: &http.base_url,
            model_id: &model.model_id,
            conversation: &conversation,
            sampling: &sampling,
            limit_field: learned.limit_field,
            stream: false,
        });
        let (answer, limits) = match http.client.send(request, 1).await {
            Err(error) => (Err(error), Vec::new()),
            Ok(received) => {
                let limits = allowances(&received.response.headers, Utc::now());
                (read(http.dialect.as_ref(), received.response), limits)
            }
        };
        if let Err(error) = &answer
            && let Action::Drop(parameter) = action(error, std::time::Duration::MAX)
        {
            let with = learned.clone();
            let lesson = learned.learn(parameter, &with, &asked, model.provider.dialect);
            if matches!(lesson, Lesson::Dropped | Lesson::Renamed) {
                continue;
            }
        }
        let cost = match (&answer, &model.price) {
            (Ok(reply), Some(price)) => price.cost(&reply.tokens),
            _ => None,
        };
        return Probe {
            answer,
            cost,
            limits,
            dropped: learned.dropped,
        };
    }
}
