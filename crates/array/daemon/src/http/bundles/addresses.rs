//! Addresses of webhooks, of which a bundle has the server alone: what follows it is a secret for many receivers.

use api::{HIDDEN, shown_url};
use serde_json::Value;

/// Shortest path that is searched for without its server. Shorter ones are no secrets, and common in other texts.
const LEAST_PATH: usize = 8;

/// Addresses, and what stands in their places.
pub(super) struct Addresses {
    /// Texts and their replacements, longest text first: one may be the beginning of another.
    texts: Vec<(String, String)>,
}

impl Addresses {
    pub(super) fn new(urls: &[String]) -> Self {
        let mut texts = Vec::new();
        for url in urls {
            // A peer may repeat the path in its answer.
            let (_, rest) = url.split_once("://").unwrap_or_default();
            let path = rest.find(['/', '?', '#']).and_then(|at| rest.get(at..));
            let path = path.filter(|path| path.len() >= LEAST_PATH);
            texts.extend(path.map(|path| (path.to_owned(), format!("/{HIDDEN}"))));
            texts.push((url.clone(), shown_url(url)));
        }
        texts.sort_unstable_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        Self { texts }
    }

    /// A text with the shown form in the place of each address. What was put in is not searched again.
    pub(super) fn hidden(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let found = self.texts.iter().find(|(address, _)| rest.starts_with(address.as_str()));
            let length = if let Some((address, shown)) = found {
                out.push_str(shown);
                address.len()
            } else {
                out.push(first);
                first.len_utf8()
            };
            rest = rest.get(length..).unwrap_or_default();
        }
        out
    }

    /// Hides in all texts of a document.
    pub(super) fn hide_in(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.hidden(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item)),
            Value::Object(fields) => fields.values_mut().for_each(|value| self.hide_in(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The address of one channel was the beginning of another's, whose secret path stayed in the text.
    #[test]
    fn an_address_within_another_hides_neither() {
        let urls =
            ["https://h.example.org/", "https://h.example.org/services/SECRET", "https://q.example.org?key=SECRET"];
        let addresses = Addresses::new(&urls.map(str::to_owned));
        let text = "POST https://h.example.org/services/SECRET: Cannot POST /services/SECRET; https://q.example.org?key=SECRET. https://h.example.org/ is well";
        assert_eq!(
            addresses.hidden(text),
            "POST https://h.example.org/(hidden): Cannot POST /(hidden); https://q.example.org/(hidden). https://h.example.org/(hidden) is well"
        );
        let named = Addresses::new(&["https://user:pw@h.example.org/services/a@SECRET".to_owned()]);
        assert_eq!(named.hidden("Cannot POST /services/a@SECRET"), "Cannot POST /(hidden)");
        let mut document = json!({ "of": [{ "detail": text }] });
        addresses.hide_in(&mut document);
        assert!(!document.to_string().contains("SECRET"), "{document}");
    }
}
