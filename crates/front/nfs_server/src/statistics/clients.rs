//! Offload of each client, for as many clients as were active lately.

use std::collections::BTreeMap;
use unit::{OffloadClient, OffloadStatistics, Primitive};

/// Clients of shares with counters of their own: a client of two shares counts twice.
const MOST: usize = 256;

/// Counters of one primitive, of one client of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOffload {
    /// Client.
    pub client: OffloadClient,
    /// Primitive.
    pub primitive: Primitive,
    /// Counters.
    pub statistics: OffloadStatistics,
}

type Counters = BTreeMap<Primitive, OffloadStatistics>;

/// Client of a share.
#[derive(Debug, Default)]
struct Client {
    /// Number of its last operation.
    last: u64,
    counters: Counters,
}

/// Counters of clients by share.
#[derive(Debug, Default)]
pub(super) struct Clients {
    clients: BTreeMap<(u64, OffloadClient), Client>,
    /// Sums of the clients that lost their counters, by share.
    others: BTreeMap<u64, Counters>,
    /// Operations counted.
    operations: u64,
}

impl Clients {
    /// Counters of a client, which is active. Another one loses its counters if there are too many.
    pub fn counters(&mut self, share: u64, client: OffloadClient, primitive: Primitive) -> &mut OffloadStatistics {
        let key = (share, client);
        if !self.clients.contains_key(&key) && self.clients.len() >= MOST {
            self.evict();
        }
        self.operations += 1;
        let client = self.clients.entry(key).or_default();
        client.last = self.operations;
        client.counters.entry(primitive).or_default()
    }

    /// Adds the counters of the client that was inactive for longest to those of the others.
    fn evict(&mut self) {
        let oldest = self.clients.iter().min_by_key(|(_, client)| client.last).map(|(key, _)| *key);
        let Some((key, client)) = oldest.and_then(|key| self.clients.remove_entry(&key)) else { return };
        let others = self.others.entry(key.0).or_default();
        for (primitive, counters) in client.counters {
            others.entry(primitive).or_default().merge(&counters);
        }
    }

    /// A share was deleted.
    pub fn forget(&mut self, share: u64) {
        self.clients.retain(|(of, _), _| *of != share);
        self.others.remove(&share);
    }

    /// Rows of a share, by client; then those of the other clients.
    pub fn of_share(&self, share: u64) -> Vec<ClientOffload> {
        let rows = |client, counters: &Counters| -> Vec<ClientOffload> {
            let row = |(primitive, statistics): (&Primitive, &OffloadStatistics)| ClientOffload {
                client,
                primitive: *primitive,
                statistics: statistics.clone(),
            };
            counters.iter().map(row).collect()
        };
        let active = self.clients.iter().filter(|((of, _), _)| *of == share);
        let active = active.flat_map(|((_, who), client)| rows(*who, &client.counters));
        active
            .chain(self.others.get(&share).into_iter().flat_map(|counters| rows(OffloadClient::Others, counters)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(number: u32) -> OffloadClient {
        OffloadClient::host(Ipv4Addr::from(number).into())
    }

    /// A flood of addresses takes no more memory, and no count is lost.
    #[test]
    fn the_clients_that_were_inactive_for_longest_are_summed() {
        let mut clients = Clients::default();
        for number in 0..1000 {
            clients.counters(7, address(1 << 24), Primitive::Clone).commands += 1;
            clients.counters(7, address(number), Primitive::Copy).commands += 1;
        }
        assert_eq!(clients.clients.len(), MOST);
        let rows = clients.of_share(7);
        let of = |client| {
            let rows = rows.iter().filter(|row| row.client == client);
            rows.map(|row| (row.primitive, row.statistics.commands)).collect::<Vec<_>>()
        };
        assert_eq!(of(address(1 << 24)), [(Primitive::Clone, 1000)]);
        assert_eq!(of(address(999)), [(Primitive::Copy, 1)]);
        assert_eq!(of(address(3)), []);
        assert_eq!(of(OffloadClient::Others), [(Primitive::Copy, 745)]);
        clients.forget(7);
        assert_eq!(clients.of_share(7), []);
    }

    #[test]
    fn an_address_has_one_row_however_it_is_written() {
        let mut clients = Clients::default();
        let mapped = OffloadClient::host(Ipv4Addr::LOCALHOST.to_ipv6_mapped().into());
        clients.counters(7, mapped, Primitive::Free).commands += 1;
        clients.counters(7, address(Ipv4Addr::LOCALHOST.to_bits()), Primitive::Free).commands += 1;
        let rows = clients.of_share(7);
        assert_eq!(rows.iter().map(|row| row.statistics.commands).collect::<Vec<_>>(), [2]);
    }
}
