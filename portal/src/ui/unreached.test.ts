import { expect, it } from "vitest";
import type { Health } from "../api/schema";
import { noAddress, routerTrouble } from "./unreached";

const health = (status: string, message: string): Health => ({
  status: "ok",
  trouble: "",
  checks: [
    { name: "disk", status: "warn", message: "5 MiB are free" },
    { name: "router", status, message },
  ],
});

it("takes from what the server finds of itself why the router leads nowhere", () => {
  expect(routerTrouble(health("warn", "port 7078 is in use"))).toBe("port 7078 is in use");
  expect(routerTrouble(health("ok", ""))).toBe("");
  expect(routerTrouble(undefined)).toBe("");
});

it("says why what runs cannot be opened, and nothing where it can or does not run", () => {
  const job = { state: "RUNNING", url: "" };
  expect(noAddress(job, "port 7078 is in use")).toBe("It runs, but has no address: port 7078 is in use.");
  expect(noAddress(job, "")).toBe("It runs, but has no address yet.");
  expect(noAddress({ ...job, url: "http://127.0.0.1:7078/desk/" }, "port 7078 is in use")).toBe("");
  expect(noAddress({ ...job, state: "QUEUED" }, "port 7078 is in use")).toBe("");
});
