use serde_json::Value;

use super::events::{Documents, documents};
use super::{Dialect, ProviderError, Response};
use crate::domain::Reply;

/// The reply in a response, read in a dialect.
///
/// Status first, then the body: a failure inside a 200 is that failure.
///
/// # Errors
/// The response is a failure, or not what its status promises.
pub fn read(dialect: &dyn Dialect, response: Response) -> Result<Reply, ProviderError> {
    if !(200..300).contains(&response.status) {
        return Err(ProviderError::from_response(&response, None));
    }
    // A letter that is no UTF-8 spoils itself, not the reply.
    let body = String::from_utf8_lossy(&response.body);
    let content_type = response.headers.get("content-type").unwrap_or_default();
    let json = match documents(content_type, &body) {
        Documents::One(json) => unwrapped(json),
        Documents::Stream(events) => {
            if let Some(failed) = events.iter().find_map(|event| dialect.failure(event)) {
                return Err(ProviderError::from_response(&response, Some(failed)));
            }
            match dialect.assemble(events) {
                Some(json) => json,
                None => return Err(ProviderError::broken_off(&response)),
            }
        }
        Documents::None => return Err(ProviderError::bad_body(&response)),
    };
    if let Some(failed) = dialect.failure(&json) {
        return Err(ProviderError::from_response(&response, Some(failed)));
    }
    let Some(mut reply) = dialect.reply(json) else {
        return Err(ProviderError::bad_body(&response));
    };
    let id = ["x-request-id", "request-id", "x-goog-request-id"]
        .iter()
        .find_map(|name| response.headers.get(name));
    reply.request_id = id.map(str::to_owned).or(reply.request_id);
    let Response { body, .. } = response;
    reply.body = Some(match String::from_utf8(body) {
        Ok(body) => body,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    });
    Ok(reply)
}

/// The JSON of a response that is neither a failure nor a stream.
///
/// # Errors
/// As [`read`].
pub fn json_of(dialect: &dyn Dialect, response: &Response) -> Result<Value, ProviderError> {
    if !(200..300).contains(&response.status) {
        return Err(ProviderError::from_response(response, None));
    }
    let Ok(json) = serde_json::from_slice(&response.body) else {
        return Err(ProviderError::bad_body(response));
    };
    if let Some(failed) = dialect.failure(&json) {
        return Err(ProviderError::from_response(response, Some(failed)));
    }
    Ok(json)
}

/// The only entry of a list: some servers wrap what they send.
fn unwrapped(json: Value) -> Value {
    match json {
        Value::Array(mut list) if list.len() == 1 => list.remove(0),
        json => json,
    }
}
