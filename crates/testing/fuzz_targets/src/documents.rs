//! Foreign JSON: the documents of the array's state, as stored in a pool (which may be of a newer
//! version, or edited), and bodies of REST requests. A state that cannot be read is refused with a
//! reason; one that can be read is usable.

use crate::input::{Reader, Writer};
use control::memory::MemoryCatalog;
use control::memory::environment::MemoryEnvironment;
use control::memory::live::MemoryLive;
use control::{
    AccessGrant, ArrayOptions, ChapSet, Control, ExportGrant, ExportGrantee, Grantee, HostCreate, HostList, JobList,
    Limits, MetricsShow, PoolList, PoolScrub, PortalList, Request, ReservationList, Secret, SessionList, ShareCreate,
    ShareList, SnapshotCreate, Squash, StatusShow, VolumeCreate, VolumeList, VolumeMetricsShow, VolumeReclaim,
};
use pool::{ADDRESS_SPACE_BYTES, Catalog, CatalogChange, ObjectId};
use std::net::IpAddr;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Decodes a body as every type that a request can have.
macro_rules! bodies {
    ($bytes:expr, $($name:ty),* $(,)?) => {
        $(if let Ok(body) = serde_json::from_slice::<$name>($bytes) {
            let _shown = format!("{body:?}");
        })*
    };
}

/// Input: a byte, even for a request's body, odd for documents; each document has its key and its
/// length.
pub(crate) fn run(input: &[u8]) {
    let mut reader = Reader::new(input);
    if reader.u8() & 1 == 0 {
        let body = reader.rest();
        bodies!(
            body,
            api::HostCreate,
            api::ChapSet,
            api::MutualChapSet,
            api::HostSet,
            api::JobSet,
            api::PoolSet,
            api::PoolGrow,
            api::SnapshotGroupCreate,
            api::SnapshotCreate,
            api::ShareCreate,
            api::ShareSet,
            api::ShareRollback,
            api::ExportGrant,
            api::VolumeCreate,
            api::VolumeSet,
            api::VolumeRollback,
            api::AccessGrant,
        );
        if let Ok(text) = std::str::from_utf8(body)
            && let Ok(bytes) = text::size::parse(text)
        {
            // The format for users is rounded, so it need not be a whole number of bytes.
            let _again = text::size::parse(&text::size::format(bytes));
        }
        return;
    }
    let catalog = Rc::new(MemoryCatalog::default());
    let mut documents = 0;
    while !reader.is_empty() && documents < 24 {
        documents += 1;
        let key = String::from_utf8_lossy(reader.short()).into_owned();
        let value = String::from_utf8_lossy(reader.long()).into_owned();
        catalog.put_document(&key, &value);
    }
    // Objects that documents can refer to.
    for id in 1..=8 {
        // The seed below has its share in object 4.
        let size_bytes = if id % 4 == 0 { ADDRESS_SPACE_BYTES } else { 1 << 30 };
        let _made = finish(catalog.commit(vec![CatalogChange::CreateVolume { id: ObjectId(id), size_bytes }]));
    }
    let Some(control) = open(catalog) else { return };
    let _reply = finish(control.execute(StatusShow));
    let _reply = finish(control.execute(MetricsShow));
    let _reply = finish(control.execute(VolumeMetricsShow { active: false }));
    let _reply = finish(control.execute(PoolList));
    let _reply = finish(control.execute(VolumeList::default()));
    let _reply = finish(control.execute(ShareList::default()));
    let _reply = finish(control.execute(HostList::default()));
    let _reply = finish(control.execute(JobList));
    let _reply = finish(control.execute(PortalList));
    let _reply = finish(control.execute(ReservationList { volume: None }));
    let _reply = finish(control.execute(SessionList::default()));
}

fn open(catalog: Rc<MemoryCatalog>) -> Option<Control> {
    let options = ArrayOptions {
        pool_name: "p0".into(),
        iqn_base: "iqn.2026-01.org.example".into(),
        target_name: Some("test".into()),
        limits: Limits::default(),
        background_share_percent: 20,
        https_fault: None,
        portals: Vec::new(),
    };
    let live = Rc::new(MemoryLive::default());
    finish(Control::open(catalog, live, Rc::new(MemoryEnvironment::default()), options))?.ok()
}

/// Polls a future that waits for nothing external.
fn finish<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    for _ in 0..10_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Some(value);
        }
    }
    None
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for body in [
        r#"{"name":"esx01","initiators":["iqn.1998-01.com.vmware:esx01"],"chap":{"user":"u","secret":"a-secret-secret"}}"#,
        r#"{"name":"v1","size":"10G","thin":true}"#,
        r#"{"size":"1.5 TiB","warn_percent":80}"#,
        r#"{"volume":"v1","host":"esx01","lun":7}"#,
        r#"{"name":"vms","owner_uid":1000,"mode":"0755","protocols":["v3","v4"]}"#,
        r#"{"network":"10.0.0.0/24","read_only":true,"squash":"all"}"#,
        r#"{"name":"s1","volumes":["v1","v2"]}"#,
        r#"{"share_percent":20}"#,
        r#"{"device":"/dev/sdb"}"#,
        "[1,2,{\"a\":null}]",
        "12.5 GiB",
    ] {
        seeds.push(Writer::default().u8(0).raw(body.as_bytes()).0);
    }
    seeds.extend(documents());
    seeds
}

/// Executes a request that the small array below needs.
fn done(control: &Control, request: impl Request) {
    let done = finish(control.execute(request));
    assert!(matches!(done, Some(Ok(_))), "the array to begin with cannot be made");
}

/// Documents of a small array: all together, and each alone.
fn documents() -> Vec<Vec<u8>> {
    let catalog = Rc::new(MemoryCatalog::default());
    let Some(control) = open(Rc::clone(&catalog)) else { return Vec::new() };
    let volume = VolumeCreate { name: "v1".into(), size_bytes: Some(1 << 30), ..VolumeCreate::default() };
    let copy = VolumeCreate { name: "v2".into(), source: Some("v1".into()), ..VolumeCreate::default() };
    let secret = Some(Secret::new("a-secret-secret".into()));
    let chap = ChapSet { user: "esx".into(), secret, generate: false, mutual: None };
    let host = HostCreate {
        name: "h1".into(),
        iqns: vec!["iqn.1998-01.com.vmware:h1".into()],
        addresses: vec![IpAddr::from([10, 0, 0, 1])],
        chap: Some(chap),
    };
    let (any, grant) = (Grantee::Any, Grantee::Host("h1".into()));
    done(&control, volume);
    done(&control, SnapshotCreate { volume: "v1".into(), name: "s1".into() });
    done(&control, copy);
    done(&control, host);
    done(&control, AccessGrant { volume: "v1".into(), grantee: grant, lun: None });
    done(&control, AccessGrant { volume: "v2".into(), grantee: any, lun: Some(9) });
    done(&control, ShareCreate::new("s1"));
    let network = "10.0.0.0/24".parse().map(ExportGrantee::Network);
    for grantee in [ExportGrantee::Host("h1".into())].into_iter().chain(network) {
        let (share, squash) = ("s1".into(), Some(Squash::All));
        let grant = ExportGrant { share, grantee, read_only: true, squash, anonymous: None, privileged_port: false };
        done(&control, grant);
    }
    done(&control, PoolScrub { pool: "p0".into(), share_percent: None });
    done(&control, VolumeReclaim { volume: "v1".into(), share_percent: Some(5) });
    let mut all = Writer::default().u8(1);
    let mut seeds = Vec::new();
    for (key, value) in catalog.documents("") {
        all = all.short(key.as_bytes()).long(&value);
        seeds.push(Writer::default().u8(1).short(key.as_bytes()).long(&value).0);
    }
    let id = r#""00000000-0000-4000-8000-000000000002""#;
    for (key, value) in [
        ("pool-settings", r#"{"warn_percent":80,"commitment":{"percent":300}}"#.to_owned()),
        (
            "reservations/00000000-0000-4000-8000-000000000002",
            format!(
                r#"{{"volume":{id},"registrations":[{{"initiator_port":"a,i,0x1","relative_target_port":1,"key":7}}]}}"#
            ),
        ),
    ] {
        seeds.push(Writer::default().u8(1).short(key.as_bytes()).long(value.as_bytes()).0);
    }
    seeds.push(all.0);
    seeds
}
