/** What is known of a chosen workload, beside a list of its kind. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { workload } from "../api/reads";
import type { WorkloadDetail } from "../api/schema";
import { Command, Failure, Loading, Name } from "./parts";
import { Side } from "./side";

export function WorkSide(props: {
  id: string;
  label: string;
  close(): void;
  /** How often it is read again, in ms. */
  again: number;
  line: string;
  children(job: WorkloadDetail): ReactNode;
}) {
  const found = useQuery({ ...workload(props.id), refetchInterval: props.again });
  return (
    <Side
      label={props.label}
      title={
        <Link to="/workloads/$ref" params={{ ref: props.id }}>
          <Name text={props.id} most={60} />
        </Link>
      }
      close={props.close}
    >
      {found.error && !found.data && <Failure error={found.error} />}
      {!found.data && !found.error && <Loading what={`the ${props.label.toLowerCase()}`} />}
      {found.data && props.children(found.data)}
      <Command line={props.line} />
    </Side>
  );
}
