//! Calls of tools that stand in a conversation, in the words of each dialect.
//!
//! The calls are part of the prompt: nothing is called. The tools are declared, since some servers want them declared
//! where they are named, and the model is told not to call them now.

use serde_json::{Map, Value, json};

use crate::domain::{Conversation, Message, Role, ToolCall};

/// The arguments of a call as JSON; a text that is none stays a text.
fn arguments(call: &ToolCall) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments))
}

/// What a tool gave back, as an object.
fn output(message: &Message) -> Value {
    match serde_json::from_str(&message.content) {
        Ok(object @ Value::Object(_)) => object,
        _ => json!({ "output": message.content }),
    }
}

/// The tools that a conversation names, each with the schema of its arguments; empty if it names none.
fn declared(conversation: &Conversation) -> Vec<(String, Value)> {
    let mut tools: Vec<(String, Value)> = Vec::new();
    for call in conversation.calls() {
        if tools.iter().any(|(name, _)| *name == call.name) {
            continue;
        }
        let mut properties = Map::new();
        if let Value::Object(fields) = arguments(call) {
            for (name, value) in fields {
                let kind = match value {
                    Value::Bool(_) => "boolean",
                    Value::Number(_) => "number",
                    Value::Array(_) => "array",
                    Value::Object(_) => "object",
                    _ => "string",
                };
                properties.insert(name, json!({ "type": kind }));
            }
        }
        let schema = json!({ "type": "object", "properties": properties });
        tools.push((call.name.clone(), schema));
    }
    tools
}

/// `OpenAI`'s chat completions, and Ollama, which wants arguments as an object and knows no choice.
pub(super) fn as_chat(conversation: &Conversation, body: &mut Value, is_ollama: bool) {
    let tools = declared(conversation);
    if tools.is_empty() {
        return;
    }
    let messages = conversation.0.iter();
    let messages: Vec<Value> = messages
        .map(|message| match (&message.call, message.role) {
            (Some(call), Role::Tool) if is_ollama => {
                json!({"role": "tool", "tool_name": call.name, "content": message.content})
            }
            (Some(call), Role::Tool) => {
                json!({"role": "tool", "tool_call_id": call.id, "content": message.content})
            }
            (Some(call), _) => {
                let function = if is_ollama {
                    json!({"name": call.name, "arguments": arguments(call)})
                } else {
                    json!({"name": call.name, "arguments": call.arguments})
                };
                let mut made = json!({"function": function});
                if !is_ollama {
                    made["id"] = json!(call.id);
                    made["type"] = json!("function");
                }
                json!({"role": "assistant", "content": message.content, "tool_calls": [made]})
            }
            (None, _) => json!(message),
        })
        .collect();
    body["messages"] = json!(messages);
    let tools = tools.into_iter().map(
        |(name, parameters)| json!({"type": "function", "function": {"name": name, "parameters": parameters}}),
    );
    body["tools"] = tools.collect();
    if !is_ollama {
        body["tool_choice"] = json!("none");
    }
}

/// `OpenAI`'s responses.
pub(super) fn as_responses(conversation: &Conversation, body: &mut Value) {
    let tools = declared(conversation);
    if tools.is_empty() {
        return;
    }
    let mut input = Vec::new();
    for message in &conversation.0 {
        match (&message.call, message.role) {
            (Some(call), Role::Tool) => input.push(json!({
                "type": "function_call_output", "call_id": call.id, "output": message.content,
            })),
            (Some(call), _) => {
                if !message.content.is_empty() {
                    input.push(json!({"role": "assistant", "content": message.content}));
                }
                input.push(json!({
                    "type": "function_call", "call_id": call.id, "name": call.name,
                    "arguments": call.arguments,
                }));
            }
            (None, _) => input.push(json!(message)),
        }
    }
    body["input"] = json!(input);
    let tools = tools.into_iter();
    body["tools"] = tools
        .map(|(name, parameters)| json!({"type": "function", "name": name, "parameters": parameters}))
        .collect();
    body["tool_choice"] = json!("none");
}

/// Anthropic's messages, system texts left out.
pub(super) fn as_anthropic(conversation: &Conversation, body: &mut Value) {
    let tools = declared(conversation);
    if tools.is_empty() {
        return;
    }
    let messages = conversation.0.iter();
    let messages: Vec<Value> = messages
        .filter(|message| message.role != Role::System)
        .map(|message| match (&message.call, message.role) {
            (Some(call), Role::Tool) => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call.id, "content": message.content},
            ]}),
            (Some(call), _) => {
                let mut content = Vec::new();
                if !message.content.is_empty() {
                    content.push(json!({"type": "text", "text": message.content}));
                }
                content.push(json!({
                    "type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call),
                }));
                json!({"role": "assistant", "content": content})
            }
            (None, _) => json!(message),
        })
        .collect();
    body["messages"] = json!(messages);
    let tools = tools.into_iter();
    body["tools"] = tools
        .map(|(name, schema)| json!({"name": name, "input_schema": schema}))
        .collect();
    body["tool_choice"] = json!({"type": "none"});
}

/// Gemini: the parts of one message.
pub(super) fn gemini_parts(message: &Message) -> Vec<Value> {
    match (&message.call, message.role) {
        (Some(call), Role::Tool) => vec![json!({
            "functionResponse": {"name": call.name, "response": output(message)},
        })],
        (Some(call), _) => {
            let mut parts = Vec::new();
            if !message.content.is_empty() {
                parts.push(json!({"text": message.content}));
            }
            parts.push(json!({"functionCall": {"name": call.name, "args": arguments(call)}}));
            parts
        }
        (None, _) => vec![json!({"text": message.content})],
    }
}

/// Gemini: the declarations.
pub(super) fn as_gemini(conversation: &Conversation, body: &mut Value) {
    let tools = declared(conversation);
    if tools.is_empty() {
        return;
    }
    let tools = tools.into_iter();
    let declared: Vec<Value> = tools
        .map(|(name, parameters)| json!({"name": name, "parameters": parameters}))
        .collect();
    body["tools"] = json!([{"functionDeclarations": declared}]);
    body["toolConfig"] = json!({"functionCallingConfig": {"mode": "NONE"}});
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation() -> Conversation {
        let mut conversation = Conversation::default();
        conversation.say(Role::System, "Two tools help you.");
        conversation.say(Role::User, "How high?");
        let call = ToolCall {
            id: "call_1".to_owned(),
            name: "look_up".to_owned(),
            arguments: r#"{"of":"height","deep":true}"#.to_owned(),
        };
        conversation.call(call, "Let me look.", r#"{"value":55}"#);
        conversation
    }

    #[test]
    fn each_dialect_gets_the_calls_in_its_own_words() {
        let conversation = conversation();
        let schema = json!({
            "type": "object",
            "properties": {"of": {"type": "string"}, "deep": {"type": "boolean"}},
        });
        let mut body = json!({});
        as_chat(&conversation, &mut body, false);
        assert_eq!(body["tool_choice"], "none");
        assert_eq!(body["tools"][0]["function"]["parameters"], schema);
        assert_eq!(
            body["messages"][2],
            json!({"role": "assistant", "content": "Let me look.", "tool_calls": [{
                "id": "call_1", "type": "function",
                "function": {"name": "look_up", "arguments": r#"{"of":"height","deep":true}"#},
            }]})
        );
        assert_eq!(
            body["messages"][3],
            json!({"role": "tool", "tool_call_id": "call_1", "content": r#"{"value":55}"#})
        );
        let mut body = json!({});
        as_chat(&conversation, &mut body, true);
        assert_eq!(
            body["messages"][2]["tool_calls"],
            json!([{"function": {"name": "look_up", "arguments": {"of": "height", "deep": true}}}])
        );
        assert_eq!(body["messages"][3]["tool_name"], "look_up");
        assert_eq!(body.get("tool_choice"), None);
        let mut body = json!({});
        as_responses(&conversation, &mut body);
        let kinds: Vec<Option<&str>> = body["input"].as_array().unwrap()[2..]
            .iter()
            .map(|item| item["type"].as_str())
            .collect();
        assert_eq!(
            kinds,
            [None, Some("function_call"), Some("function_call_output")]
        );
        let mut body = json!({});
        as_anthropic(&conversation, &mut body);
        assert_eq!(body["messages"].as_array().unwrap().len(), 3);
        assert_eq!(body["messages"][1]["content"][1]["input"]["of"], "height");
        assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], "call_1");
        assert_eq!(body["tools"][0]["input_schema"], schema);
        let mut body = json!({});
        as_gemini(&conversation, &mut body);
        assert_eq!(body["toolConfig"]["functionCallingConfig"]["mode"], "NONE");
        let parts = gemini_parts(&conversation.0[3]);
        assert_eq!(
            parts[0]["functionResponse"]["response"],
            json!({"value": 55})
        );
    }
}
