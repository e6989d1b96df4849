//! Conditions of the management plane.

use super::Array;
use crate::*;

#[test]
fn a_condition_has_an_event_each_time_and_one_alert_while_it_holds() {
    let array = Array::new();
    let report = |event: Option<&str>, alert: Option<&str>| ManagementReport {
        condition: ManagementCondition::SignInFailed,
        event: event.map(str::to_owned),
        alert: alert.map(str::to_owned),
    };
    array.run(report(Some("one"), None)).unwrap();
    assert!(array.run(AlertList).unwrap().is_empty());
    array.run(report(Some("two"), Some("many"))).unwrap();
    let since = array.run(AlertList).unwrap()[0].since;
    array.run(report(None, Some("more"))).unwrap();
    let alerts = array.run(AlertList).unwrap();
    assert_eq!((alerts.len(), alerts[0].code, alerts[0].message.as_str()), (1, "sign-in-failed", "more"));
    assert_eq!(alerts[0].since, since, "it holds since its first report");
    array.run(report(None, None)).unwrap();
    assert!(array.run(AlertList).unwrap().is_empty());
    let code = Some("sign-in-failed".to_owned());
    let list = EventList { since: None, filter: EventFilter { code, ..EventFilter::default() }, limit: 10 };
    let messages: Vec<String> = array.run(list).unwrap().into_iter().map(|event| event.message).collect();
    assert_eq!(messages, ["one", "two"]);
}
