//! Scoring given answers over HTTP: the requests of a server's way, one set after the other.

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use super::backend::Http;
use crate::domain::{Conversation, ErrorClass, Reply, Scoring};
use crate::model::Model;
use crate::provider::{
    Allowance, ProviderError, Scope, ScoreCall, ScoreStep, allowances, bare_text, json_of,
};

/// Requests of one set that are on their way at once, where the entry does not say.
const AT_ONCE: usize = 8;

/// How much of a body that cannot be used is kept, in characters.
const KEPT: usize = 2000;

fn beginning(body: &str) -> String {
    body.chars().take(KEPT).collect()
}

/// The scores, or why there are none; and what the last headers tell of the server's limits.
pub(super) async fn score(
    http: &Http,
    model: &Model,
    conversation: &Conversation,
    scoring: &Scoring,
) -> (Result<Reply, ProviderError>, Vec<Allowance>) {
    let mut limits = Vec::new();
    let scored = score_with(http, model, conversation, scoring, &mut limits).await;
    (scored, limits)
}

async fn score_with(
    http: &Http,
    model: &Model,
    conversation: &Conversation,
    scoring: &Scoring,
    limits: &mut Vec<Allowance>,
) -> Result<Reply, ProviderError> {
    let unable = || {
        ProviderError::local(
            ErrorClass::BadRequest,
            "this kind of server gives no probabilities of given answers",
        )
    };
    let api = http.dialect.scoring().ok_or_else(unable)?;
    let prompt = bare_text(conversation);
    let call = ScoreCall {
        base_url: &http.base_url,
        model_id: &model.model_id,
        prompt: &prompt,
        scoring,
    };
    let at_once = model
        .limits
        .concurrency
        .map_or(AT_ONCE, |most| most as usize);
    let mut bodies: Vec<Value> = Vec::new();
    loop {
        let step = api.next(&call, &bodies).ok_or_else(|| ProviderError {
            scope: Scope::Model,
            maybe_billed: true,
            body: bodies.last().map(|body| beginning(&body.to_string())),
            ..ProviderError::local(
                ErrorClass::BadRequest,
                "the server gives no log-probabilities for the tokens of the prompt: is it the kind of server that models.yaml says, and a version that gives them?",
            )
        })?;
        let requests = match step {
            ScoreStep::Done(reply) => return Ok(*reply),
            ScoreStep::Send(requests) => requests,
        };
        let received: Vec<(Value, Vec<Allowance>)> = stream::iter(requests)
            .map(|request| async move {
                let received = http.client.send(request, 1).await?;
                let limits = allowances(&received.response.headers, received.response.received);
                Ok::<_, ProviderError>((
                    json_of(http.dialect.as_ref(), &received.response)?,
                    limits,
                ))
            })
            .buffered(at_once)
            .try_collect()
            .await?;
        for (body, told) in received {
            bodies.push(body);
            *limits = told;
        }
    }
}
