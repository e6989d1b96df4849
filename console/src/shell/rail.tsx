// The pages: a rail at the left, or a bar at the bottom of a telephone.

import { A, useLocation, useNavigate } from "@solidjs/router";
import { For, type JSX } from "solid-js";
import { Menu } from "../parts/menu";
import { Icon, Mark } from "./icons";
import { EARLY, isHere, PLACES } from "./places";

export function Rail(): JSX.Element {
  const location = useLocation();
  const go = useNavigate();
  return (
    <nav class="rail" aria-label="Pages">
      <A class="name" href="/">
        <Mark /> Windlass
      </A>
      <ul>
        <For each={PLACES}>
          {(place, position) => (
            <li classList={{ late: position() >= EARLY }}>
              <a
                href={place.path}
                classList={{ here: isHere(place, location.pathname) }}
                aria-current={isHere(place, location.pathname) ? "page" : undefined}
              >
                <Icon of={place.icon} />
                {place.name}
              </a>
            </li>
          )}
        </For>
        <li class="more">
          <Menu
            label="More pages"
            text={
              <>
                <Icon of="more" />
                More
              </>
            }
            actions={() => PLACES.slice(EARLY).map((place) => ({ label: place.name, run: () => go(place.path) }))}
          />
        </li>
      </ul>
    </nav>
  );
}
