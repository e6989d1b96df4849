//! `windlass demo`: a temporary array with something in it, ready to be tried.

use crate::lifecycle::{Serving, run, say};
use crate::{Configuration, LogFormat, PoolConfiguration, ReactorStarter, ServeError, TlsMode};
use anyhow::{Context, anyhow};
use bytes::Bytes;
use control::{Action, Grantee, Reply, VolumeCreate, VolumeView};
use std::fs::DirBuilder;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Size of the demonstration's volumes.
const VOLUME_BYTES: u64 = 8 << 30;
/// Data in its template.
const TEMPLATE_BYTES: u64 = 256 << 20;
/// Written at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// Options of `windlass demo`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct DemoOptions {
    /// iSCSI portal [default: 127.0.0.1:3260, or a free port when that is taken]
    #[arg(long, value_name = "ADDR:PORT")]
    pub iscsi: Option<SocketAddr>,
    /// Size of the pool, a sparse file
    #[arg(long, value_name = "SIZE", default_value = "64G", value_parser = |text: &str| api::size::parse(text))]
    pub pool_size: u64,
    /// What to log
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub log: String,
}

/// Runs a temporary array until a signal comes. What it made goes away with it.
pub fn demo(options: &DemoOptions, starter: impl ReactorStarter) -> Result<(), ServeError> {
    crate::logging::start(&options.log, LogFormat::Text)?;
    let directory = Temporary::new()?;
    let state_dir = directory.0.clone();
    let configuration = Configuration {
        socket: state_dir.join(crate::state_dir::SOCKET_NAME),
        http: None,
        tls: TlsMode::SelfSigned,
        iscsi: vec![options.iscsi.unwrap_or_else(free_portal)],
        advertise: Vec::new(),
        iqn_base: "iqn.2026-01.org.windlass".to_owned(),
        target_name: Some("demo".to_owned()),
        metrics: None,
        pool: PoolConfiguration {
            name: "demo".to_owned(),
            path: state_dir.join("demo.pool"),
            size_bytes: options.pool_size,
        },
        memory_bytes: 512 << 20,
        log: options.log.clone(),
        log_format: LogFormat::Text,
        state_dir,
    };
    let start = Instant::now();
    run(&configuration, starter, async |serving: Serving| {
        let template = fill(&serving).await?;
        show(&serving, &template, start);
        Ok(())
    })
}

/// Makes the volumes: a template with data, two clones of it, an empty one; any host sees them.
async fn fill(serving: &Serving) -> Result<VolumeView, ServeError> {
    let template = create(serving, "template", Some(VOLUME_BYTES), None).await?;
    let mut content = Content::default();
    for offset_bytes in (0..TEMPLATE_BYTES).step_by(usize::try_from(CHUNK_BYTES).unwrap_or(usize::MAX)) {
        let written = serving.array.write(&template, offset_bytes, content.next_chunk()).await;
        written.context("cannot write the template's content")?;
    }
    create(serving, "vm-01", None, Some("template")).await?;
    create(serving, "vm-02", None, Some("template")).await?;
    create(serving, "scratch", Some(VOLUME_BYTES), None).await?;
    for (lun, volume) in (0..).zip(["template", "vm-01", "vm-02", "scratch"]) {
        let grant = Action::AccessGrant { volume: volume.to_owned(), grantee: Grantee::Any, lun: Some(lun) };
        serving.array.call(grant).await.with_context(|| format!("cannot grant access to {volume}"))?;
    }
    Ok(template)
}

async fn create(
    serving: &Serving,
    name: &str,
    size_bytes: Option<u64>,
    source: Option<&str>,
) -> Result<VolumeView, ServeError> {
    let source = source.map(str::to_owned);
    let create = VolumeCreate { name: name.to_owned(), size_bytes, source, write_cache: false };
    let reply = serving.array.call(Action::VolumeCreate(create)).await;
    match reply.with_context(|| format!("cannot make volume {name}"))? {
        Reply::Volume { view, .. } => Ok(*view),
        _ => Err(anyhow!("the array answered something else than volume {name}").into()),
    }
}

/// Tells what there is and what to try.
fn show(serving: &Serving, template: &VolumeView, start: Instant) {
    let target = &serving.ready.target;
    let portal = serving.ready.portals.first().map_or("", |portal| portal.advertised.as_str());
    let server = format!("unix:{}", serving.socket.display());
    let size = api::size::format(template.object.size_bytes);
    let data = api::size::format(TEMPLATE_BYTES);
    say(&format!(
        "ready in {:.1} s: a temporary array; everything goes away with Ctrl-C

  portal    {portal}   target {target}
  volumes   0 template ({size}, {data} of data) · 1 vm-01 and 2 vm-02 (its clones) · 3 scratch (empty)
  URL       iscsi://{portal}/{target}/0

next, in another terminal:
  export WINDLASS_SERVER={server}
  windlass volume list
  windlass volume clone template vm-03 && windlass access grant vm-03 --any
  windlass pool show
  qemu-img convert -n -C -f raw -O raw iscsi://{portal}/{target}/0 iscsi://{portal}/{target}/3
  windlass offload stats
  iscsiadm -m discovery -t sendtargets -p {portal}",
        start.elapsed().as_secs_f64()
    ));
}

/// Data that neither compresses nor repeats: SplitMix64.
#[derive(Default)]
struct Content(u64);

impl Content {
    fn next_chunk(&mut self) -> Bytes {
        let words = CHUNK_BYTES / 8;
        let mut chunk = Vec::with_capacity(usize::try_from(CHUNK_BYTES).unwrap_or(0));
        for _ in 0..words {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut word = self.0;
            word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            chunk.extend_from_slice(&(word ^ (word >> 31)).to_le_bytes());
        }
        Bytes::from(chunk)
    }
}

/// iSCSI's own port on the loopback address, or any free one.
fn free_portal() -> SocketAddr {
    let usual = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3260);
    match TcpListener::bind(usual) {
        Ok(_) => usual,
        Err(_) => SocketAddr::new(usual.ip(), 0),
    }
}

/// A directory for its owner only that goes away with this.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> anyhow::Result<Self> {
        let mut random = [0; 4];
        getrandom::fill(&mut random).context("the operating system gives no random bytes")?;
        let path = std::env::temp_dir().join(format!("windlass-demo-{:08x}", u32::from_be_bytes(random)));
        DirBuilder::new().mode(0o700).create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_dir_all(path) {
        tracing::warn!(%error, path = %path.display(), "the demonstration's directory could not be removed");
    }
}
