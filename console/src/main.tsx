// The console of a Windlass array.

import { Navigate, Route, Router, useLocation } from "@solidjs/router";
import { lazy } from "solid-js";
import { render } from "solid-js/web";
import "./style/tokens.css";
import "./style/base.css";
import { followAnnouncements } from "./live/announcements";
import { watch } from "./live/stream";
import { applyTheme } from "./shell/preferences";
import { Shell } from "./shell/shell";

const Overview = lazy(() => import("./pages/overview/page"));
const Volumes = lazy(() => import("./pages/volumes/page"));
const Volume = lazy(() => import("./pages/volume/page"));
const Offload = lazy(() => import("./pages/offload/page"));
const Hosts = lazy(() => import("./pages/hosts/page"));
const Host = lazy(() => import("./pages/host/page"));
const Sessions = lazy(() => import("./pages/sessions/page"));
const Portals = lazy(() => import("./pages/portals/page"));
const Groups = lazy(() => import("./pages/groups/page"));
const Connect = lazy(() => import("./pages/connect/page"));
const Shares = lazy(() => import("./pages/shares/page"));
const Share = lazy(() => import("./pages/share/page"));
const Space = lazy(() => import("./pages/space/page"));
const Snapshots = lazy(() => import("./pages/snapshots/page"));
const Activity = lazy(() => import("./pages/activity/page"));
const Settings = lazy(() => import("./pages/settings/page"));
const Limits = lazy(() => import("./pages/limits/page"));
const Trash = lazy(() => import("./pages/trash/page"));
const Schedules = lazy(() => import("./pages/schedules/page"));
const People = lazy(() => import("./pages/people/page"));
const Tokens = lazy(() => import("./pages/tokens/page"));
const SignIns = lazy(() => import("./pages/sign-ins/page"));
const Lab = lazy(() => import("./pages/lab/page"));
const Codes = lazy(() => import("./pages/codes/page"));
const NotFound = lazy(() => import("./pages/not-found/page"));

applyTheme();
followAnnouncements();
watch();
render(
  () => (
    <Router root={Shell}>
      <Route path="/" component={Overview} />
      <Route path="/volumes" component={Volumes} />
      <Route path="/volumes/:name/:tab?" component={Volume} />
      <Route path="/offload/:tab?" component={Offload} />
      <Route path="/hosts" component={Hosts} />
      <Route path="/hosts/:name" component={Host} />
      <Route path="/groups" component={Groups} />
      <Route path="/sessions" component={Sessions} />
      <Route path="/portals" component={Portals} />
      <Route path="/hosts/connect/:step?" component={Connect} />
      <Route path="/shares" component={Shares} />
      <Route path="/shares/:name/:tab?" component={Share} />
      <Route path="/space" component={Space} />
      <Route path="/space/trash" component={Trash} />
      <Route path="/snapshots" component={Snapshots} />
      <Route path="/snapshots/schedules" component={Schedules} />
      <Route path="/activity/:tab?" component={Activity} />
      <Route path={["/lab", "/lab/runs/:id"]} component={Lab} />
      <Route path="/settings" component={Settings} />
      <Route path="/settings/limits" component={Limits} />
      <Route path="/settings/people" component={People} />
      <Route path="/settings/tokens" component={Tokens} />
      <Route path="/settings/sign-ins" component={SignIns} />
      <Route path="/codes/:code?" component={Codes} />
      {/* Where the page was before. */}
      <Route path="/connect" component={() => <Navigate href={`/hosts/connect${useLocation().search}`} />} />
      {/* The form of both is there at any address; these are where people look for it. */}
      <Route path={["/setup", "/sign-in"]} component={() => <Navigate href="/" />} />
      <Route path="*" component={NotFound} />
    </Router>
  ),
  document.body,
);
