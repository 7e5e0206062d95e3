/** Open a service or workspace in a tab of its own, through the router. */
import { useState } from "react";
import { Button } from "react-aria-components";
import { change, part } from "../api/client";
import type { Opening } from "../api/schema";
import { Failure } from "./parts";

export function OpenButton({ id, primary = false }: { id: string; primary?: boolean }) {
  const [error, setError] = useState<Error | null>(null);
  const open = async () => {
    setError(null);
    const tab = window.open("", "_blank"); // at once: browsers refuse tabs that come later
    try {
      const { url } = await change<Opening>("POST", `/workloads/${part(id)}/open`);
      if (!/^https?:/.test(url)) throw new Error("the server named no address of the web");
      if (!tab) location.assign(url);
      else {
        tab.opener = null;
        tab.location.replace(url);
      }
    } catch (found) {
      tab?.close();
      setError(found as Error);
    }
  };
  return (
    <>
      <Button className={primary ? "primary" : ""} onPress={() => void open()}>
        Open
      </Button>
      {error && <Failure error={error} />}
    </>
  );
}
