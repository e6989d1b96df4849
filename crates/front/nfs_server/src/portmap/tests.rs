//! Portmap and rpcbind. The numbers are rows of the facts about the wire.

use crate::connection::{Connection, Transport};
use crate::rpc::{Rpc, Settings};
use crate::testing::{Bench, SETTINGS, bytes_of, encoded, ready, record, reply_of, success};
use onc_rpc::message::AcceptStatus;
use onc_rpc::portmap::{Mapping, PROGRAM, Protocol, Request, Results};
use onc_rpc::rpcbind::{self, Binding};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;

const MOUNT: u32 = nfs::mount::PROGRAM;
const NFS: u32 = nfs::PROGRAM;

/// A bench whose portmap is asked on its own port.
fn bench() -> Bench {
    let bench = Bench::new();
    ask_at(&bench, "192.0.2.9:111");
    bench
}

fn ask_at(bench: &Bench, address: &str) {
    let server: SocketAddr = address.parse().unwrap_or_else(|error| panic!("{error}"));
    bench.connection.set(Connection { server, ..bench.connection.get() });
}

fn version_2(bench: &Bench, request: &Request) -> Results {
    let call = bench.header(PROGRAM, 2, request.procedure());
    let mut reader = success(bench.reply(&call, &encoded(|writer| request.encode(writer))));
    let results = Results::decode(request.procedure(), &mut reader);
    assert_eq!(reader.finish(), Ok(()));
    results.unwrap_or_else(|error| panic!("{error}"))
}

fn bind(bench: &Bench, version: u32, request: &rpcbind::Request) -> rpcbind::Results {
    let call = bench.header(PROGRAM, version, request.procedure());
    let mut reader = success(bench.reply(&call, &encoded(|writer| request.encode(writer))));
    let results = rpcbind::Results::decode(request.procedure(), &mut reader);
    assert_eq!(reader.finish(), Ok(()));
    results.unwrap_or_else(|error| panic!("{error}"))
}

fn mapping(program: u32, version: u32, protocol: Protocol) -> Mapping {
    Mapping { program, version, protocol, port: 0 }
}

fn port(bench: &Bench, program: u32, version: u32, protocol: Protocol) -> u32 {
    match version_2(bench, &Request::GetPort(mapping(program, version, protocol))) {
        Results::GetPort(port) => port,
        other => panic!("{other:?}"),
    }
}

fn binding(program: u32, version: u32, network_id: &str) -> Binding {
    let (address, owner) = (Default::default(), Default::default());
    Binding { program, version, network_id: network_id.into(), address, owner }
}

/// Universal address of a program.
fn address(bench: &Bench, rpcbind_version: u32, binding: Binding) -> String {
    match bind(bench, rpcbind_version, &rpcbind::Request::GetAddress(binding)) {
        rpcbind::Results::GetAddress(address) => String::from_utf8_lossy(&address).into_owned(),
        other => panic!("{other:?}"),
    }
}

/// C50, C51
#[test]
fn programs_are_on_the_port_of_nfs() {
    let bench = bench();
    assert_eq!(version_2(&bench, &Request::Null), Results::Null);
    for (program, version) in [(NFS, 3), (NFS, 4), (MOUNT, 3)] {
        assert_eq!(port(&bench, program, version, Protocol::TCP), 2049, "{program} {version}");
    }
    assert_eq!(port(&bench, PROGRAM, 2, Protocol::TCP), 111);
}

/// C53
#[test]
fn what_is_not_served_has_port_0() {
    let bench = bench();
    for (program, version, protocol) in [
        (100_021, 4, Protocol::TCP),
        (NFS, 2, Protocol::TCP),
        (MOUNT, 1, Protocol::TCP),
        (NFS, 3, Protocol::UDP),
        (NFS, 3, Protocol(0)),
    ] {
        assert_eq!(port(&bench, program, version, protocol), 0, "{program} {version}");
    }
}

fn listed(rpc_bench: &Bench) -> Vec<(u32, u32, u32)> {
    match version_2(rpc_bench, &Request::Dump) {
        Results::Dump(all) => {
            assert!(all.iter().all(|one| one.protocol == Protocol::TCP));
            all.iter().map(|one| (one.program, one.version, one.port)).collect()
        }
        other => panic!("{other:?}"),
    }
}

/// C54
#[test]
fn all_programs_are_listed() {
    let bench = bench();
    let portmap = [(PROGRAM, 2, 111), (PROGRAM, 3, 111), (PROGRAM, 4, 111)];
    let expected = [&portmap[..], &[(NFS, 3, 2049), (NFS, 4, 2049), (MOUNT, 3, 2049)]].concat();
    assert_eq!(listed(&bench), expected);
    let without_3 = Bench::with(Settings { v3: false, port: 12_049, ..SETTINGS });
    ask_at(&without_3, "192.0.2.9:111");
    assert_eq!(listed(&without_3), [&portmap[..], &[(NFS, 4, 12_049)]].concat());
}

/// C54
#[test]
fn without_version_4_it_is_not_listed() {
    let bench = bench();
    let rpc = Rpc::<_, Infallible>::new(SETTINGS, Rc::clone(&bench.shares), None);
    let call = bench.header(PROGRAM, 2, 3);
    let arguments = bytes_of(&mapping(NFS, 4, Protocol::TCP));
    let answer = ready(rpc.take(record(&call, &arguments), &bench.connection.get(), bench.moment()));
    assert_eq!(success(reply_of(call.xid, answer)).u32(), Ok(0));
}

/// C55
#[test]
fn nothing_is_registered_removed_or_called() {
    let bench = bench();
    let one = || mapping(NFS, 3, Protocol::TCP);
    assert_eq!(version_2(&bench, &Request::Set(one())), Results::Set(false));
    assert_eq!(version_2(&bench, &Request::Unset(one())), Results::Unset(false));
    for version in [3, 4] {
        let one = || binding(NFS, 3, "tcp");
        let set = bind(&bench, version, &rpcbind::Request::Set(one()));
        assert_eq!(set, rpcbind::Results::Set(false));
        let unset = bind(&bench, version, &rpcbind::Request::Unset(one()));
        assert_eq!(unset, rpcbind::Results::Unset(false));
    }
    assert_eq!(port(&bench, NFS, 3, Protocol::TCP), 2049);
    for (version, procedure) in [(2, 5), (3, 5), (4, 5), (4, 10)] {
        let arguments = encoded(|writer| (0..8).for_each(|_| writer.u32(0)));
        let status = bench.accepted(PROGRAM, version, procedure, &arguments);
        assert_eq!(status, AcceptStatus::ProcedureUnavailable, "{version} {procedure}");
    }
}

/// C57
#[test]
fn an_address_is_the_one_that_was_asked() {
    let bench = bench();
    for version in [3, 4] {
        assert_eq!(address(&bench, version, binding(NFS, 3, "tcp")), "192.0.2.9.8.1");
        assert_eq!(address(&bench, version, binding(MOUNT, 3, "")), "192.0.2.9.8.1");
        assert_eq!(address(&bench, version, binding(PROGRAM, 2, "tcp")), "192.0.2.9.0.111");
        // Any version will do.
        assert_eq!(address(&bench, version, binding(NFS, 2, "tcp")), "192.0.2.9.8.1");
        for (program, network_id) in [(NFS, "udp"), (NFS, "tcp6"), (NFS, "local"), (100_021, "tcp")] {
            assert_eq!(address(&bench, version, binding(program, 3, network_id)), "", "{program} {network_id}");
        }
    }
    ask_at(&bench, "[fd00::9]:111");
    assert_eq!(address(&bench, 4, binding(NFS, 4, "tcp6")), "fd00::9.8.1");
    assert_eq!(address(&bench, 4, binding(NFS, 4, "tcp")), "");
    ask_at(&bench, "[::ffff:192.0.2.9]:111");
    assert_eq!(address(&bench, 4, binding(NFS, 4, "tcp")), "192.0.2.9.8.1");
}

/// C57
#[test]
fn the_exact_version_may_be_wanted() {
    let bench = bench();
    let exact = |version| match bind(&bench, 4, &rpcbind::Request::GetVersionAddress(binding(NFS, version, "tcp"))) {
        rpcbind::Results::GetVersionAddress(address) => String::from_utf8_lossy(&address).into_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!((exact(4), exact(2)), ("192.0.2.9.8.1".into(), String::new()));
}

/// C54, C57
#[test]
fn rpcbind_lists_addresses_and_tells_the_time() {
    let bench = bench();
    match bind(&bench, 4, &rpcbind::Request::Dump) {
        rpcbind::Results::Dump(all) => {
            assert_eq!(all.len(), 6);
            let mount = all.iter().find(|one| one.program == MOUNT).cloned();
            let expected =
                Binding { address: "192.0.2.9.8.1".into(), owner: "superuser".into(), ..binding(MOUNT, 3, "tcp") };
            assert_eq!(mount, Some(expected));
        }
        other => panic!("{other:?}"),
    }
    let time = bind(&bench, 3, &rpcbind::Request::GetTime);
    assert_eq!(time, rpcbind::Results::GetTime(bench.seconds.get()));
}

/// C61, without the socket.
#[test]
fn a_datagram_gets_the_same_answer() {
    let bench = bench();
    bench.connection.set(Connection { transport: Transport::Udp, ..bench.connection.get() });
    assert_eq!(port(&bench, NFS, 3, Protocol::TCP), 2049);
    assert_eq!(address(&bench, 3, binding(NFS, 3, "tcp")), "192.0.2.9.8.1");
}

/// The list is ten times as long as the question, which may have the address of a victim.
#[test]
fn a_datagram_gets_no_list() {
    let bench = bench();
    for (transport, status) in
        [(Transport::Tcp, AcceptStatus::Success), (Transport::Udp, AcceptStatus::ProcedureUnavailable)]
    {
        bench.connection.set(Connection { transport, ..bench.connection.get() });
        for version in [2, 3, 4] {
            assert_eq!(bench.accepted(PROGRAM, version, 4, &[]), status, "{version}");
        }
    }
}
