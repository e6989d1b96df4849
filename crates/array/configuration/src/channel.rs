//! Secrets of channels in a plan: whether a channel keeps the one that it has, needs one, or loses it.

use crate::Fields;
use api::ChannelSettings;
use serde_json::Value;

/// Word of the field with the settings of a channel.
const SETTINGS: &str = "settings";

/// Fields that say whether a channel has a secret, by kind.
fn has_field(settings: &Value) -> Option<&'static str> {
    match settings["kind"].as_str()? {
        "email" => Some("has_password"),
        "webhook" => Some("has_secret"),
        _ => None,
    }
}

/// States whether a channel has a secret, if its document does not: as the array has it. `before`: the channel of the
/// array.
pub(crate) fn complete(fields: &mut Fields, before: Option<&Fields>) {
    let Some(settings) = fields.get_mut(SETTINGS) else { return };
    let Some(has) = has_field(settings).filter(|has| settings[*has].is_null()) else { return };
    let before = before.and_then(|before| before.get(SETTINGS)).and_then(|before| before[has].as_bool());
    // A password belongs to a user.
    let is_possible = has != "has_password" || !settings["user"].is_null();
    settings[has] = Value::from(is_possible && before == Some(true));
}

/// Change of a channel's settings, with regard to its secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretChange {
    /// The channel is replaced by one of another kind.
    pub is_replaced: bool,
    /// It has a secret, and the one that it had before cannot be used: there was none, or it was given for another
    /// peer.
    pub needs: bool,
    /// It had a secret, and has none any more.
    pub loses: bool,
}

impl SecretChange {
    /// Looks at settings before and after; `null` before: a new channel.
    pub fn of(before: &Value, after: &Value) -> Self {
        let has = |settings: &Value| has_field(settings).is_some_and(|has| settings[has] == Value::Bool(true));
        let read = |settings: &Value| serde_json::from_value::<ChannelSettings>(settings.clone()).ok();
        let is_same_peer = matches!((read(before), read(after)), (Some(one), Some(other)) if one.is_same_peer(&other));
        let is_replaced = !before.is_null() && before["kind"] != after["kind"];
        Self {
            is_replaced,
            needs: has(after) && !(has(before) && is_same_peer),
            loses: !is_replaced && has(before) && !has(after),
        }
    }
}
