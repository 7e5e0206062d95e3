/** A queue as it would be, taken along to the questions about the past. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { stringify } from "yaml";
import { policy } from "../../api/reads";
import { keepQuestion } from "../whatif/asked";
import type { Rules } from "./may";

/** Those who may not see the policy of the fleet have no such button. */
export function Try({ name, rules }: { name: string; rules: Rules | null }) {
  const found = useQuery({ ...policy, retry: false });
  if (!found.data) return null;
  const { document } = found.data;
  return (
    <Link className="button" to="/what-if" onClick={() => keepQuestion({ policy: stringify(policyWith(document, name, rules)) })}>
      Try it on the past
    </Link>
  );
}

/** A policy with one queue otherwise, added or (null) gone. */
export function policyWith(document: Rules, name: string, rules: Rules | null): Rules {
  const listed = (document["queues"] ?? []) as Rules[];
  const others = listed.filter((each) => each["name"] !== name);
  return { ...document, queues: rules ? [...others, { ...rules, name }] : others };
}
