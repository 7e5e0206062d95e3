/** What every page has around it: navigation, who looks, and whether what is shown is true now. */
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { Fragment, useEffect, useRef } from "react";
import { Button } from "react-aria-components";
import { signOut, skew } from "./api/client";
import { useVisitor } from "./entrance";
import { useLive } from "./live/live";
import { markOf } from "./live/mark";
import { useNow } from "./ui/clock";
import { duration } from "./ui/numbers";
import { Palette } from "./palette";
import { shownTo } from "./ui/pages";
import { Name, Time } from "./ui/parts";
import { useSettings, type Theme } from "./ui/settings";
import { UndoLine } from "./ui/undo";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function Shell() {
  const { me, about } = useVisitor();
  const { theme, setTheme, zone, setZone } = useSettings();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const before = useRef(path);
  useEffect(() => {
    document.querySelector(".pages [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
    if (before.current === path) return;
    before.current = path;
    main.current?.focus(); // readers of screens are told that the page is another one
  }, [path]);
  const leave = async () => {
    await signOut();
    location.assign("/");
  };
  return (
    <div className="shell">
      <a className="skip" href="#main">
        Go to the content
      </a>
      <header className="bar">
        <Link to="/" className="brand">
          <img src="/favicon.svg" alt="" width="24" height="24" /> Ganglion
        </Link>
        <div className="bar-end">
          <Palette />
          <LiveMark />
          <details className="menu">
            <summary>
              <Name text={me.user} most={24} />
            </summary>
            <div>
              <Link to="/profile">Profile</Link>
              <Button className="small plain" onPress={() => setZone(zone === "utc" ? "local" : "utc")}>
                Times: {zone === "utc" ? "UTC" : zone}
              </Button>
              <Button className="small plain" onPress={() => setTheme(NEXT[theme])}>
                Theme: {theme}
              </Button>
              <Button className="small plain" onPress={() => void leave()}>
                Sign out
              </Button>
            </div>
          </details>
        </div>
      </header>
      <Banners />
      <div className="frame">
        <nav className="pages" aria-label="Pages">
          {shownTo(me).map((each) => (
            <Fragment key={each.to}>
              {each.group && <h2 className="group">{each.group}</h2>}
              <Link to={each.to} activeOptions={{ exact: true, includeSearch: false }}>
                {each.title}
              </Link>
            </Fragment>
          ))}
        </nav>
        <main id="main" ref={main} tabIndex={-1}>
          <UndoLine />
          <Outlet />
        </main>
      </div>
      <footer className="quiet">Ganglion {about.version}</footer>
    </div>
  );
}

function LiveMark() {
  const { text, className } = markOf(useLive());
  return (
    <span className={`live ${className}`} role="status">
      <span aria-hidden="true" className="dot" /> {text}
    </span>
  );
}

/** Further than that, times would mislead. */
const CLOCK_MS = 60_000;

function Banners() {
  const live = useLive();
  useNow();
  return (
    <>
      {live.state === "gone" && (
        <div className="notice bad banner" role="alert">
          <strong>The server does not answer.</strong> What is shown is from before{" "}
          <Time at={live.since} exact />. This page tries again by itself.
        </div>
      )}
      {live.outdated && (
        <div className="notice warn banner" role="alert">
          <strong>The server is another version than this page.</strong> What is shown may be wrong.{" "}
          <Button className="small" onPress={() => location.reload()}>
            Reload
          </Button>
        </div>
      )}
      {Math.abs(skew()) > CLOCK_MS && (
        <div className="notice warn banner">
          The clock of this machine is {duration(Math.abs(skew()))}{" "}
          {skew() > 0 ? "behind" : "ahead of"} that of the server; times are those of the server.
        </div>
      )}
    </>
  );
}
