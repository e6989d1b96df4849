//! Prometheus text format 0.0.4, from OpenMetrics text without its end. In the older format, HELP and
//! TYPE of a counter have its whole name.

/// Converts families. HELP of a family comes before its TYPE, which says whether it is a counter.
pub(super) fn of(open: &str) -> String {
    let mut classic = String::with_capacity(open.len() + open.len() / 16);
    let mut help = None;
    let mut add = |line: &[&str]| {
        line.iter().for_each(|part| classic.push_str(part));
        classic.push('\n');
    };
    for line in open.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = Some(described);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|typed| typed.split_once(' ')) {
            let ending = if kind == "counter" { "_total" } else { "" };
            if let Some((name, text)) = help.take().and_then(|described| described.split_once(' ')) {
                // Only OpenMetrics escapes quotation marks here.
                add(&["# HELP ", name, ending, " ", &text.replace("\\\"", "\"")]);
            }
            add(&["# TYPE ", name, ending, " ", kind]);
        } else {
            add(&[line]);
        }
    }
    classic
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn counters_are_described_by_their_whole_names() {
        let open = "# HELP a_b All \\\"b\\\".\n# TYPE a_b counter\na_b_total{x=\"1\"} 3\n\
                    # HELP c A gauge.\n# TYPE c gauge\nc{} 0\n";
        let classic = "# HELP a_b_total All \"b\".\n# TYPE a_b_total counter\na_b_total{x=\"1\"} 3\n\
                       # HELP c A gauge.\n# TYPE c gauge\nc{} 0\n";
        assert_eq!(of(open), classic);
    }
}
