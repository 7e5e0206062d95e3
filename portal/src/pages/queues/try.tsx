/** A queue as it would be, taken along to the questions about the past. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { stringify } from "yaml";
import { policy } from "../../api/reads";
import { useVisitor } from "../../entrance";
import { may } from "../../ui/may";
import { keepQuestion } from "../whatif/asked";
import type { Rules } from "./may";

/** Of the whole fleet the policy is taken along, with the queue in it; of a part the rules of the queue alone. */
export function Try({ name, rules }: { name: string; rules: Rules | null }) {
  const { me } = useVisitor();
  const fleet = may(me, "view");
  const found = useQuery({ ...policy, retry: false, enabled: fleet });
  if (fleet ? !found.data : rules === null) return null;
  const keep = () =>
    keepQuestion(
      found.data ? { policy: stringify(policyWith(found.data.document, name, rules)) } : { rules: stringify({ [name]: rules }) },
    );
  return (
    <Link className="button" to="/what-if" onClick={keep}>
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
