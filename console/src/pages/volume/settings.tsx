// Settings and identity of a volume.

import type { JSX } from "solid-js";
import { LimitsCard } from "../../actions/limits-card";
import type { Volume } from "../../api/schema";
import { Act } from "../../parts/act";
import { Copy } from "../../parts/copy";
import { At } from "../../parts/numbers";

export function SettingsTab(props: { volume: Volume; onChange: () => void }): JSX.Element {
  const threshold = (percent: number | null | undefined) => (percent == null ? "off" : `${percent} % mapped`);
  return (
    <div class="cards">
      <section class="card">
        <h2>Settings</h2>
        <dl class="facts">
          <dt>Reserve</dt>
          <dd>{props.volume.reserve ?? "thin"}</dd>
          <dt>Write cache</dt>
          <dd>{props.volume.write_cache ? "on" : "off"}</dd>
          <dt>Zero detection</dt>
          <dd>{(props.volume.zero_detection ?? true) ? "on" : "off"}</dd>
          <dt>Warn above</dt>
          <dd>{threshold(props.volume.warn_percent)}</dd>
          <dt>Critical above</dt>
          <dd>{threshold(props.volume.critical_percent)}</dd>
        </dl>
        <p class="under">
          <Act onClick={() => props.onChange()}>Change</Act>
        </p>
      </section>
      <LimitsCard volume={props.volume} />
      <section class="card">
        <h2>Identity</h2>
        <dl class="facts">
          <dt>NAA</dt>
          <dd>
            <code>{props.volume.naa}</code> <Copy text={props.volume.naa} what="the NAA" />
          </dd>
          <dt>Serial</dt>
          <dd>
            <code>{props.volume.serial}</code> <Copy text={props.volume.serial} what="the serial number" />
          </dd>
          <dt>Id</dt>
          <dd>
            <code>{props.volume.id}</code> <Copy text={props.volume.id} what="the id" />
          </dd>
          <dt>Pool</dt>
          <dd>{props.volume.pool}</dd>
          <dt>Created</dt>
          <dd>
            <At at={props.volume.created} />
          </dd>
        </dl>
      </section>
    </div>
  );
}
