// When a pool is full at its present growth.

import { type JSX, Show } from "solid-js";
import { api } from "../api/paths";
import { useQuery } from "../api/query";
import type { Forecast as Foreseen } from "../api/schema";
import { forecastWords } from "./forecast-words";
import { now } from "./now";

const EVERY_MS = 600_000;

export default function Forecast(props: { pool: string }): JSX.Element {
  const forecast = useQuery<Foreseen>(() => api("pools", props.pool, "forecast"), EVERY_MS);
  return (
    <Show when={forecast.data()}>
      {(present) => <p class="soft small below-bar">{forecastWords(present(), now())}</p>}
    </Show>
  );
}
