//! Options that choose, sort and shorten a list.

use crate::client::{Client, PART, encoded, with_limit};
use crate::error::CliError;
use crate::output::{Output, Resource};
use api::ListQuery;
use serde::de::DeserializeOwned;

/// Options of a list.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Selection {
    /// Sort by one or two keys; '-' before a key: descending. An unknown key is refused with all that
    /// the list has
    #[arg(long, value_name = "KEY[,KEY]", allow_hyphen_values = true)]
    sort: Option<String>,
    /// Only what matches, such as host=esx01; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_filter)]
    filter: Vec<(String, String)>,
    /// Only what has this text in one of its names
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Maximum number of rows
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

fn parse_filter(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} is not NAME=VALUE"))?;
    if ListQuery::PARAMETERS.contains(&name) {
        return Err(format!("{name:?} is not a filter"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

impl Selection {
    /// True if the list is shown whole.
    pub(crate) fn is_whole(&self) -> bool {
        self.filter.is_empty() && self.search.is_none() && self.limit.is_none()
    }

    /// Path and query of the first part, which has at most `most` resources.
    fn first_part(&self, path: &str, most: u32) -> String {
        let mut link = with_limit(path, most);
        let fixed = [("sort", self.sort.as_deref()), ("q", self.search.as_deref())];
        let fixed = fixed.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let filters = self.filter.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in fixed.chain(filters) {
            link += &format!("&{}={}", encoded(name), encoded(value));
        }
        link
    }

    /// Reads the chosen part of a list. Also returns the number of resources that match.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        path: &str,
        client: &Client,
    ) -> Result<(Vec<T>, u64), CliError> {
        let limit = self.limit.unwrap_or(u32::MAX);
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let (items, total) = client.up_to(&self.first_part(path, limit.min(PART)), wanted).await?;
        let total = total.unwrap_or_else(|| u64::try_from(items.len()).unwrap_or(u64::MAX));
        Ok((items, total))
    }

    /// Shows the chosen part of a list, and how much of it is not shown.
    pub(crate) async fn show<T: Resource + DeserializeOwned>(
        &self,
        path: &str,
        client: &Client,
        output: &mut Output<'_, '_>,
    ) -> Result<Vec<T>, CliError> {
        let (items, total) = self.read::<T>(path, client).await?;
        output.list(&items)?;
        let shown = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if shown < total && output.is_for_people() {
            output.report(&format!("{shown} of {total} are shown"));
        }
        Ok(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_parameters() {
        let selection = Selection {
            sort: Some("-size_bytes,name".to_owned()),
            filter: vec![parse_filter("host=esx 1&limit=2").unwrap_or_default()],
            search: Some("win@dc".to_owned()),
            limit: Some(5),
        };
        let link = "/api/v1/volumes?limit=5&sort=-size_bytes%2Cname&q=win%40dc&host=esx%201%26limit%3D2";
        assert_eq!(selection.first_part("/api/v1/volumes", 5), link);
        assert_eq!(Selection::default().first_part("/l?a=b", 500), "/l?a=b&limit=500");
        assert!(parse_filter("host").is_err() && parse_filter("sort=name").is_err());
        assert!(Selection::default().is_whole() && !selection.is_whole());
    }
}
