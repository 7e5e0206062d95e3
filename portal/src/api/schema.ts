// Generated from the OpenAPI document (python -m tools.reference); not edited by hand.


export interface Accepted {
  id: string;
  name: string;
  gangs: number;
  next: Array<string>;
  due: number | null;
}

export type AccessVerb = "view" | "submit" | "update" | "stop" | "enter" | "connect" | "change" | "grant" | "audit" | "halt" | "deliver";

export interface Amount {
  gpu_milli: number | null;
  cpu_milli: number | null;
  memory_mib: number | null;
}

export interface AnchorCopy {
  where: string;
  events: number;
  at: number;
  behind: number;
  since: number;
  late: boolean;
  problem: string;
}

export interface AnchorPage {
  now: number;
  head: number;
  signed: number;
  unsigned: number;
  unsigned_since: number;
  signs_within: number;
  late_after: number;
  late: boolean;
  problem: string;
  items: Array<AnchorCopy>;
}

export interface AnchorStanding {
  where: string;
  checkpoints: number;
  events: number;
  problem: string;
}

export interface AnswerTaken {
}

export interface AskedQuestion {
  id: string;
  question: WhyQuestion | LogQuestion;
  within_ms: number;
}

export interface AskedScheduler {
  cluster: string;
  at: number;
  answered: boolean;
  trouble: string;
  hint: string;
  pods: Array<string>;
}

export interface AttemptPage {
  metered_since: number | null;
  items: Array<TimelineSpan>;
  left_out: boolean;
}

export interface Band {
  p50: number;
  p90: number;
}

export interface BatchAnswer {
  accepted: number;
  refused: number;
  items: Array<BatchItem>;
}

export interface BatchItem {
  id: string;
  name: string;
  gangs: number;
  due: number | null;
  problem: Refusal | null;
}

export interface BeforeUpdate {
  workload: string;
  priority: number | null;
  queue: string | null;
  held: boolean | null;
}

export interface BookingFile {
  name: unknown;
  nodes?: unknown;
  within?: unknown;
  begin: string;
  end?: string | null;
  length?: unknown | null;
  queues?: unknown;
  users?: unknown;
  reason?: unknown;
  clears?: unknown;
}

export interface BookingPage {
  items: Array<BookingView>;
  next: string | null;
}

export interface BookingView {
  name: string;
  nodes: Array<string>;
  begin: number;
  end: number;
  queues: Array<string>;
  users: Array<string>;
  reason: string;
  state: string;
  clears: boolean;
}

export interface BootstrapLink {
  url: string;
  until: number;
}

export interface BootstrapWish {
  if_needed: boolean;
}

export interface BoundView {
  queue: string;
  rule: string;
  flavor: string;
  resource: string;
  most: number;
  used: number;
  binds: boolean;
}

export interface BrokenGlass {
  user: string;
  queue?: string | null;
}

export interface BrowserSession {
  id: string;
  user: string;
  groups: Array<string>;
  at: number;
  used: number;
  until: number;
  own: boolean;
}

export interface BrowserSessions {
  items: Array<BrowserSession>;
}

export interface BudgetDecisionWish {
  reason: string;
}

export interface BudgetLine {
  queue: string;
  micro: number;
  carried_micro: number;
  spent_micro: number;
  reserved_micro: number;
  left_micro: number;
  begin: number;
  end: number;
  zone: string;
  carry_over: boolean;
  warn: Array<number>;
  grace_ms: number;
  crossed: number;
  suspends_at: number | null;
  raised_micro: number;
}

export interface BudgetPage {
  items: Array<BudgetLine>;
  currency: string;
  next: string | null;
}

export interface BudgetRequestPage {
  items: Array<BudgetRequestView>;
  currency: string;
  next: string | null;
}

export interface BudgetRequestView {
  number: number;
  queue: string;
  micro: number;
  state: RequestState;
  reason: string;
  by: string;
  at: number;
  until: number;
  decided_by: string;
  decided_at: number | null;
  answer: string;
}

export interface BudgetRequestWish {
  micro: number;
  reason: string;
}

export interface BudgetWish {
  micro: number;
  zone: string;
  carry_over: boolean;
  warn: Array<number>;
  grace_ms: number;
}

export interface BulkAnswer {
  at: number;
  matched: number;
  done: number;
  refused: number;
  workloads: Array<string>;
  prefixes: Record<string, string>;
  problems: Array<Refusal>;
  before: Array<BeforeUpdate>;
}

export interface Cancel {
  force: boolean;
}

export interface CancelMany {
  workloads: Array<string>;
  filter?: WorkloadFilter | null;
  dry_run: boolean;
  force: boolean;
}

export interface CapacityPage {
  items: Array<FlavorReport>;
  next: string | null;
}

export type CauseKind = "address_opened" | "asleep" | "beyond_means" | "blocked" | "budget_spent" | "cancelled" | "cleared" | "devices_gone" | "emptied" | "escalated" | "fewer_stand_by" | "fewer_wanted" | "given_up" | "grown" | "higher_priority" | "idle" | "load" | "model_updated" | "moved" | "moved_for_booking" | "nodes_booked" | "nodes_closed" | "other" | "other_terms" | "own_priority" | "part_taken" | "place_gone" | "place_late" | "pods_ended" | "pods_lost" | "policy_applied" | "policy_built_in" | "policy_of_server" | "policy_rolled_back" | "preempted" | "recalled" | "reclaimed" | "reclaimed_borrowing" | "released" | "repaired" | "resumed" | "scaled" | "scaled_down" | "shared" | "start_failed" | "suspended" | "woken" | "yielded";

export type Chance = "even" | "likely" | "unknown" | "unlikely";

export interface Check {
  name: string;
  status: string;
  message: string;
}

export interface CheckpointFile {
  interval?: unknown;
  signal?: unknown;
  grace?: unknown;
  path?: unknown;
  must_resume?: unknown;
}

export interface ChoiceInput {
  on: Array<string>;
  mail: Array<string>;
  webhook: Array<string>;
  signing_key: string;
  waiting: string;
}

export interface ChoicesInput {
  items: Array<ChoiceInput>;
}

export interface ClusterDelivery {
  name: string;
  scheduler: string;
  version: string;
  heard: number;
  position: number;
  gangs: number;
  lost: number;
  silent_since: number;
}

export interface ClusterPage {
  items: Array<ClusterDelivery>;
}

export interface ConstraintsFile {
  labels?: Record<string, unknown>;
  avoid?: Record<string, unknown>;
  residency?: unknown;
  isolation?: string;
}

export interface Cordon {
  reason: string;
}

export interface CorrectionView {
  number: number;
  at: number;
  flavor: string;
  change_micro: number;
}

export interface CurvePage {
  gang: string;
  items: Array<CurveView>;
}

export interface CurveView {
  attempt: number;
  kind: string;
  name: string;
  times: Array<number>;
  steps: Array<number>;
  values: Array<number>;
}

export interface DeliveryPosition {
  position: number;
  money: Record<string, unknown> | null;
}

export interface DeviceUse {
  node: string;
  index: number;
  type: string;
  uuid: string;
  gangs: Array<string>;
  users: Array<string>;
  busy_milli: number | null;
  memory_mib: number | null;
  memory_total_mib: number;
  power_mw: number | null;
  power_limit_mw: number | null;
  strangers: Array<number>;
}

export interface DeviceView {
  index: number;
  type: string;
  memory_mib: number;
  numa: number;
  island: number;
  uuid: string;
  healthy: boolean;
  free_milli: number;
  gangs: Array<string>;
}

export interface DisplacedView {
  gang: string;
  workload: string;
  name: string;
  queue: string;
  user: string;
  fate: Yielding;
  gpu_milli: number;
  lost_gpu_ms: number | null;
  most_gpu_ms: number;
  most_micro: number | null;
}

export interface Displacement {
  items: Array<DisplacedView>;
  others: number;
  gpu_milli: number;
  lost_gpu_ms: number;
  unknown: number;
  most_gpu_ms: number;
  most_micro: number | null;
  currency: string;
}

export interface Done {
  ok: boolean;
}

export interface DrainPage {
  items: Array<DrainView>;
  next: string | null;
}

export interface DrainView {
  what: string;
  nodes: Array<string>;
  by: number;
  reason: string;
  leavers: Array<LeaverView>;
}

export interface DrainWish {
  by: number;
  reason: string;
}

export interface EarlyStopFile {
  metric: unknown;
  goal?: string;
  first?: unknown;
  factor?: unknown;
}

export interface ErasureView {
  token: string;
  clear: number;
}

export interface ErasureWish {
  user: string;
  reason: string;
}

export interface Explained {
  gang: string;
  phase: string;
  histogram: Record<string, number>;
  ahead: Array<string>;
  ahead_count: number;
  position: number;
  holders: Array<string>;
  holder_count: number;
  start: Band | null;
  reserved_ms: number;
  guesses: Array<string>;
  closed: Record<string, string>;
  deadline_ms: number;
  end: Band | null;
  raised: Array<Raise>;
  next_raise: Raise | null;
  reason: Reason | null;
  suggestions: Array<Suggestion>;
  chance: Chance | null;
  preemptions: number;
  lost_gpu_ms: number;
  text: string;
  waited: Array<WaitedFor>;
  held: Array<HeldItem>;
}

export interface FlavorReport {
  flavor: string;
  nodes: number;
  open_nodes: number;
  gpu_total_milli: number;
  gpu_used_milli: number;
  gpu_free_milli: number;
  cpu_total_milli: number;
  cpu_used_milli: number;
  memory_total_mib: number;
  memory_used_mib: number;
  largest_hole: number;
  whole_nodes: number;
}

export interface FlavorUsage {
  flavor: string;
  capacity_gpu_us: number;
  held_gpu_us: number;
  idle_gpu_us: number;
  unavailable_gpu_us: number;
  capacity_micro: number;
  charged_micro: number;
  discount_micro: number;
  idle_micro: number;
  unavailable_micro: number;
  unpriced_gpu_us: number;
}

export interface FlavorsFile {
  order?: unknown;
  borrow_first?: unknown;
  preempt_first?: unknown;
  prefer_preempting?: unknown;
}

export interface GangUse {
  gang: string;
  workload: string;
  user: string;
  queue: string;
  phase: string;
  nodes: Array<string>;
  gpus: number;
  gpu_busy_milli: number | null;
  gpu_memory_mib: number | null;
  power_mw: number | null;
  cpu_milli: number | null;
  memory_mib: number | null;
  processes: number | null;
}

export interface GangView {
  id: string;
  index: number;
  phase: string;
  attempt: number;
  ranks: number;
  placement: Placement | null;
  reason: Reason | null;
  outcome: string | null;
  exit_code: number | null;
  message: string;
  restarts: number;
  promise: Placement | null;
  waits_for: Array<string>;
  params: Record<string, string>;
  preemptions: number;
  lost_gpu_ms: number;
  saved: Saved | null;
  submitted: number;
  placed: number | null;
  started: number | null;
  ended: number | null;
  endpoint: string;
  draining: boolean;
  model: string;
  metrics: Record<string, ReportedMetric>;
  waited: Array<WaitedFor>;
  life: Array<LifeEvent>;
  life_left_out: number;
}

export interface GlassView {
  user: string;
  since: number;
  until: number;
  reason: string;
}

export interface GlassWish {
  reason: string;
  lasting: number;
  queue?: string | null;
}

export interface GrantView {
  subject: string;
  role: string;
  queue: string;
  until: number | null;
  by: string;
  at: number;
  break_glass: boolean;
  broken: Array<GlassView>;
}

export interface GrantWish {
  subject: string;
  role: Role;
  queue: string;
  until?: number | null;
  break_glass: boolean;
}

export interface Group {
  size: unknown;
  required?: "cluster" | "region" | "zone" | "block" | "rack" | "nvlink-domain" | "node" | "numa" | "island" | string | null;
  preferred?: "cluster" | "region" | "zone" | "block" | "rack" | "nvlink-domain" | "node" | "numa" | "island" | string | null;
}

export interface GroupsWish {
  groups: Array<string>;
}

export interface Health {
  status: string;
  trouble: string;
  checks: Array<Check>;
}

export interface HeldItem {
  node: string;
  item: string;
  saved_s: number;
}

export interface HintFile {
  cron: string;
  lasts: unknown;
  replicas: unknown;
  zone?: string;
}

export interface HistoryItem {
  id: string;
  name: string;
  kind: string;
  queue: string;
  user: string;
  priority: number;
  state: string;
  reason: string;
  message: string;
  gpus: number;
  gpus_held: number;
  pods: number;
  running: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  stopped_early: number;
  waiting: number;
  standby: number;
  submitted: number;
  started: number | null;
  ended: number | null;
  exit_code: number | null;
  position: number | null;
  silent_since: number;
  waits_for: Array<string>;
  preemptions: number;
  lost_gpu_ms: number;
  alarms: Record<string, string>;
  cost: WorkloadCost | null;
  gangs: number;
  spent: Spent | null;
}

export interface HistoryPage {
  items: Array<HistoryItem>;
  next: string | null;
}

export interface HoldPage {
  items: Array<HoldView>;
}

export interface HoldView {
  name: string;
  since: number;
  reason: string;
  by: string;
  at: number;
}

export interface HoldWish {
  since: number;
  reason: string;
}

export interface HolderView {
  subject: string;
  role: string;
  queue: string;
  until: number | null;
  own: boolean;
  dormant: boolean;
  broken_by: string;
}

export interface IdleFile {
  warn?: unknown;
  gpu?: string;
  traffic?: unknown;
  hours?: string | null;
  save?: unknown;
}

export type Kind = "train" | "service" | "workspace" | "sweep" | "batch";

export interface KnownBefore {
  priority?: number | null;
  queue?: string | null;
  held?: boolean | null;
}

export interface LeaverView {
  gang: string;
  at: number;
  how: string;
}

export interface LentRow {
  queue: string;
  parent: string;
  lent_gpu_us: number;
  borrowed_gpu_us: number;
}

export type Level = "block" | "cluster" | "fleet" | "gpu" | "island" | "node" | "numa" | "nvlink-domain" | "rack" | "region" | "zone";

export interface LifeChange {
  name: string;
  before: string;
  after: string;
}

export interface LifeEvent {
  at: number;
  kind: string;
  attempt: number;
  step: number;
  path: string;
  saved_by: number;
  changes: Array<LifeChange>;
  why: string;
}

export interface LogQuestion {
  kind: "logs";
  gang: string;
  namespace: string;
  rank: number;
  limit: number;
  previous: boolean;
  tail: number | null;
  since: string;
  skip: number;
  mark: string;
  after: string;
}

export interface ModelKept {
  state: string;
  bytes: number;
  of: number;
  trouble: string;
}

export interface ModelList {
  items: Array<ModelRow>;
  store: ModelStore | null;
}

export interface ModelRow {
  workload: string;
  name: string;
  kind: string;
  queue: string;
  user: string;
  model: ModelUse | null;
  now: ModelUse | null;
  moved: boolean | null;
  asked: number | null;
  trouble: string;
  before: ModelUse | null;
  fresh: number;
  outdated: number;
  kept: ModelKept | null;
}

export interface ModelStore {
  folder: string;
  limit: number;
  trouble: string;
  models: Array<StoredModel>;
}

export interface ModelUse {
  reference: string;
  uri: string;
  version: string;
  digest: string;
}

export interface NewToken {
  token: string;
  about: TokenView;
}

export interface NodeDetail {
  node: NodeView;
  opens: string;
  occupants: Array<Occupant>;
  awaiting: Array<Occupant>;
  bookings: Array<BookingView>;
}

export interface NodePage {
  items: Array<NodeView>;
  next: string | null;
}

export interface NodeView {
  name: string;
  flavor: string;
  state: string;
  reason: string;
  deadline: number;
  domains: Record<string, string>;
  labels: Record<string, string>;
  gpu_total_milli: number;
  gpu_free_milli: number;
  cpu_total_milli: number;
  cpu_free_milli: number;
  memory_total_mib: number;
  memory_free_mib: number;
  pods: number;
  devices: Array<DeviceView>;
}

export interface NoticeChoice {
  on: Array<string>;
  mail: Array<string>;
  webhook: Array<string>;
  signing_key: string;
  waiting: string;
}

export interface NoticesView {
  items: Array<NoticeChoice>;
}

export interface NotifyFile {
  on?: unknown;
  mail?: unknown;
  command?: unknown;
  webhook?: unknown;
  signing_key?: string;
  waiting?: unknown;
}

export interface Occupant {
  gang: string;
  user: string;
  queue: string;
  phase: string;
  since: number;
  pods: number;
  devices: Array<number>;
  milli: number;
}

export interface Opening {
  url: string;
  token: string;
}

export interface OrderItem {
  position: number;
  workload: string;
  gang: string;
  queue: string;
  user: string;
  kind: string;
  priority: number;
  gpus: number;
  reason: string;
  message: string;
  never: boolean;
  submitted: number;
  cluster: string;
  silent_since: number;
}

export interface OrderPage {
  items: Array<OrderItem>;
  total: number;
  next: string | null;
}

export interface OtherModel {
  to: string;
  back: boolean;
  surge: number;
}

export interface OtherPolicy {
  text: string;
  file: string;
}

export interface OverheadRow {
  step: string;
  count: number;
  p50_ms: number | null;
  p95_ms: number | null;
}

export interface PasswordWish {
  password: string;
  current: string;
}

export interface PastUseView {
  half_life_ms: number;
  gpu_milli: number;
  deserved_without_gpu_milli: number;
  used_permille: number | null;
  weight_permille: number | null;
  place: number | null;
  place_without: number | null;
  beside: number;
}

export interface Placement {
  pods: Array<PodPlacement>;
  level: Level;
  domain: string;
  held: Array<HeldItem>;
}

export interface PodPlacement {
  pod_set: string;
  index: number;
  node: string;
  devices: Array<number>;
  milli: number;
}

export interface PodSetFile {
  name: unknown;
  nodes?: unknown;
  procs_per_node?: unknown;
  resources?: Resources;
  placement?: "any" | "cluster" | "region" | "zone" | "block" | "rack" | "nvlink-domain" | "node" | "numa" | "island" | "prefer_cluster" | "prefer_region" | "prefer_zone" | "prefer_block" | "prefer_rack" | "prefer_nvlink-domain" | "prefer_node" | "prefer_numa" | "prefer_island" | string | Record<string, string>;
  groups?: Array<Group>;
}

export interface PolicyChange {
  key: string;
  before: string | null;
  after: string | null;
}

export interface PolicyHistory {
  items: Array<PolicyVersion>;
  next: string | null;
}

export interface PolicyOutcome {
  version: number;
  changes: Array<PolicyChange>;
  warnings: Array<string>;
}

export interface PolicyVersion {
  version: number;
  at: number;
  user: string;
  cause: string;
  changes: Array<PolicyChange>;
}

export interface PolicyView {
  version: number;
  at: number;
  user: string;
  cause: string;
  text: string;
  document: Record<string, unknown>;
  etag: string;
}

export interface PortalLink {
  url: string;
  until: number;
  trouble: string;
}

export interface PreemptionFile {
  preempt?: string;
  reclaim?: string;
  borrowing?: string;
  threshold?: number | null;
  protected?: unknown;
  delay?: unknown;
  share_after?: unknown;
}

export interface PricePage {
  items: Array<PriceView>;
  currency: string;
  zone: string;
  next: string | null;
}

export interface PriceView {
  number: number;
  flavor: string;
  kind: string;
  hours: string;
  micro: number | null;
  since: number;
  at: number;
  by: string;
  known: boolean;
}

export interface PriceWish {
  micro: number | null;
  since: number;
  kind: string;
  hours: string;
  zone: string;
  currency: string;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  instance: string;
  code: string;
  hint: string;
  errors: Array<Wrong>;
}

export interface Proposal {
  text: string;
  file: string;
}

export interface ProposedPolicy {
  text: string;
  file: string;
  allow_unknown_flavors: boolean;
}

export interface Question {
  since: string;
  until: string;
  policy?: OtherPolicy | null;
  nodes: Array<string>;
  queues: Array<string>;
  rules: Record<string, Record<string, unknown>>;
  prices: Array<string>;
  workload?: Record<string, unknown> | null;
  at: string;
  cluster: string;
}

export interface QuestionPage {
  items: Array<AskedQuestion>;
}

export interface QueueFile {
  name: unknown;
  parent?: unknown;
  quota?: Record<string, unknown>;
  limit?: Record<string, unknown>;
  lend_limit?: Record<string, unknown>;
  borrowing_limit?: Record<string, unknown>;
  user_limit?: Record<string, unknown>;
  weight?: number;
  priority?: number;
  max_pending?: unknown;
  strict?: unknown | null;
  preemption?: PreemptionFile | null;
  flavors?: FlavorsFile | null;
  timeshare?: unknown | null;
  kinds?: Record<string, Record<string, unknown>>;
}

export interface QueuePage {
  items: Array<QueueView>;
  next: string | null;
}

export interface QueueRules {
  name: string;
  document: Record<string, unknown>;
  etag: string;
}

export interface QueueView {
  name: string;
  parent: string;
  quota: Record<string, Amount>;
  limit: Record<string, Amount>;
  lend_limit: Record<string, Amount>;
  over_quota_weight: number;
  priority: number;
  max_pending: number;
  leaf: boolean;
  gpu_used_milli: number;
  deserved_gpu_milli: number;
  reclaimable_gpu_milli: number;
  used: Record<string, Amount>;
  running: number;
  waiting: number;
  document: Record<string, unknown>;
  etag: string;
  bounds: Array<BoundView>;
  past: PastUseView | null;
}

export interface Raise {
  at: number;
  to: number;
  before: number;
}

export interface Reason {
  token: Token;
  message: string;
  never: boolean;
  evidence: Record<string, number>;
  remedy: Remedy;
}

export interface ReclaimPage {
  since: number;
  until: number;
  known_since: number | null;
  items: Array<ReclaimView>;
  left_out: boolean;
}

export interface ReclaimView {
  taker: string;
  giver: string;
  cause: CauseKind;
  why: string;
  count: number;
  gpu_milli: number;
  unknown: number;
  last_at: number;
  last: Array<ReclaimedAttempt>;
}

export interface ReclaimedAttempt {
  at: number;
  workload: string;
  for_workload: string;
  gpu_milli: number | null;
}

export interface Refusal {
  workload: string;
  code: string;
  detail: string;
  hint: string;
}

export type Remedy = "ask an administrator" | "change the request" | "wait";

export interface Report {
  since: number;
  until: number;
  metered_since: number | null;
  utilisation: Array<UtilisationRow>;
  waits: Array<WaitRow>;
  overhead: Array<OverheadRow>;
  cpu_ms: number | null;
  spans: Array<ReportSpan>;
  lost_since: number | null;
}

export interface ReportSpan {
  begin: string;
  allocated_gpu_us: number;
  capacity_gpu_us: number | null;
  started: number;
  p50_ms: number | null;
  p95_ms: number | null;
  lost_gpu_us: number | null;
  useful_gpu_us: number | null;
}

export interface ReportedMetric {
  at: number;
  step: number;
  value: number | null;
  attempt: number;
}

export type RequestState = "approved" | "denied" | "over" | "waiting";

export type ResourceKind = "workload" | "queue" | "fleet" | "policy" | "secret" | "access" | "token" | "server" | "cluster" | "price" | "budget";

export interface Resources {
  gpus?: unknown;
  cpus?: unknown;
  memory?: unknown;
  shm_size?: unknown;
  together?: string | null;
}

export interface RetryFile {
  limit?: unknown;
  on?: unknown | null;
  backoff?: unknown;
  limits?: Record<string, number>;
  replace?: unknown;
}

export interface Return {
  version: number;
}

export type Role = "viewer" | "submitter" | "maintainer" | "owner" | "operator" | "auditor" | "admin" | "reporter";

export interface RolePage {
  items: Array<GrantView>;
}

export interface RoutedLoad {
  age_ms: number;
  ready: number;
  waiting: number;
  running: number;
  first_p50_ms: number | null;
  first_p90_ms: number | null;
  whole_p50_ms: number | null;
  whole_p90_ms: number | null;
  minute: number;
  failed: number;
  replicas: Record<string, number>;
}

export interface Saved {
  at: number;
  step: number;
  path: string;
  attempt: number;
}

export interface Scale {
  replicas: number | string;
}

export interface ScaleFile {
  targets?: Record<string, unknown>;
  source?: string;
  query?: unknown;
  path?: unknown;
  window?: unknown;
  panic_window?: unknown;
  panic?: unknown;
  up?: string;
  down?: string;
  hold_down?: unknown;
  zero_after?: unknown;
  cold_start?: unknown;
  start_within?: unknown;
  on_time?: string;
  hints?: Array<HintFile>;
  drain?: unknown;
  standby?: StandbyFile | null;
  affinity?: unknown;
}

export interface Scaling {
  floor: number | null;
  ceiling: number | null;
  wanted: number;
  draining: Array<string>;
  at: number | null;
  cause: string;
}

export interface ScheduleFile {
  cron: string;
  zone?: string;
  overlap?: string;
  keep?: unknown;
}

export interface SchedulePage {
  items: Array<ScheduleView>;
  next: string | null;
}

export interface ScheduleView {
  name: string;
  user: string;
  cron: string;
  zone: string;
  overlap: string;
  next: number | null;
  last: number | null;
  run: string;
  live: Array<string>;
  message: string;
}

export interface SearchFile {
  trials: unknown;
  seed?: unknown;
}

export interface SecretPage {
  items: Array<SecretView>;
}

export interface SecretValue {
  value: string;
}

export interface SecretView {
  name: string;
  at: number;
}

export interface Selection {
  workloads: Array<string>;
  filter?: WorkloadFilter | null;
  dry_run: boolean;
}

export interface SessionView {
  id: string;
  at: number;
  gang: string;
  attempt: number;
  pod: number;
  verb: string;
  stage: string;
  user: string;
  uid: number | null;
  command: Array<string>;
  path: string;
  port: number;
  exit_code: number | null;
  reason: string;
  duration_ms: number | null;
}

export interface Shutdown {
  cancel: boolean;
}

export interface SpendCap {
  micro: number;
  spent_micro: number;
  reserved_micro: number;
  left_micro: number;
  currency: string;
}

export interface Spent {
  wait_ms: number;
  run_ms: number;
  gpu_ms: number;
  attempts: number;
  waited: Record<string, number>;
}

export interface StandbyFile {
  replicas?: unknown;
  notice?: unknown;
}

export interface StartPage {
  items: Array<StartView>;
}

export type StartUnknown = "blocked" | "guesses" | "large" | "never" | "no_end";

export interface StartView {
  gang: string;
  at: number;
  start: Band | null;
  guesses: Array<string>;
}

export type State = "QUEUED" | "STARTING" | "RUNNING" | "SUSPENDED" | "STOPPING" | "SUCCEEDED" | "FAILED" | "CANCELLED" | "TIMED_OUT";

export interface StoredModel {
  uri: string;
  digest: string;
  bytes: number;
  used: number;
}

export interface Subtree {
  subject: string;
  role: Role;
  queue: string;
}

export interface Suggestion {
  change: string;
  level: string;
  stops: Array<string>;
  awaits: Array<string>;
  priority: number | null;
  queue: string;
  time_limit_ms: number;
  pods: number;
  gpus: number;
}

export interface Suspension {
  id: string;
  loss: string;
}

export interface TimelinePage {
  since: number;
  until: number;
  metered_since: number | null;
  items: Array<TimelineSpan>;
  left_out: boolean;
}

export interface TimelineSpan {
  kind: string;
  node: string;
  gang: string;
  workload: string;
  user: string;
  queue: string;
  attempt: number;
  begin: number;
  end: number | null;
  open: boolean;
  milli: number;
  devices: Array<number>;
  guess: boolean;
  ahead_of: string;
}

export type Token = "budget" | "capacity" | "constraint" | "dependency" | "draining" | "held" | "order" | "policy" | "quota" | "topology";

export interface TokenPage {
  items: Array<TokenView>;
}

export interface TokenView {
  id: string;
  user: string;
  groups: Array<string>;
  role: string;
  queue: string;
  until: number;
  label: string;
  by: string;
  at: number;
  spend_cap: SpendCap | null;
}

export interface TokenWish {
  user: string;
  role: Role;
  queue: string;
  groups: Array<string>;
  label: string;
  days: number;
  spend_cap_micro?: number | null;
}

export interface TrailFlaw {
  seq: number;
  problem: string;
}

export interface TrailPage {
  items: Array<TrailRecord>;
  head: number;
  looked_back: number;
  next: string | null;
}

export interface TrailRecord {
  seq: number;
  at: number;
  kind: string;
  actor: string;
  queue: string;
  workload: string;
  request: string;
  rule: string;
  checksum: string;
  event: Record<string, unknown>;
  problem: string;
  cluster: string;
  token: string;
  agent: string;
}

export interface TrailVerdict {
  at: number;
  log: string;
  key: string;
  sound: boolean;
  first: number;
  last: number;
  events: number;
  checkpoints: number;
  signed: number;
  unsigned: number;
  anchored: number;
  anchors: Array<AnchorStanding>;
  unwritten: string;
  flaws: Array<TrailFlaw>;
}

export interface Update {
  priority?: number | null;
  queue?: string | null;
  time_limit?: string | null;
  deadline?: string | null;
  held?: boolean | null;
}

export interface UpdateMany {
  workloads: Array<string>;
  filter?: WorkloadFilter | null;
  dry_run: boolean;
  changes: Update;
  only_if?: KnownBefore;
}

export type UsageBy = "queue" | "user" | "workload" | "flavor" | "kind" | "day";

export interface UsagePage {
  since: number;
  until: number;
  metered_since: number | null;
  items: Array<UsageRow>;
  total: UsageRow;
  fleet: Array<FlavorUsage> | null;
  currency: string;
  corrections: Array<CorrectionView>;
  lent: Array<LentRow>;
  lost_since: number | null;
  guessed: Array<string>;
  next: string | null;
}

export interface UsageRow {
  queue: string;
  user: string;
  workload: string;
  flavor: string;
  day: string;
  kind: string;
  held_gpu_us: number;
  requested_gpu_us: number;
  attempts: number;
  cost_micro: number;
  list_micro: number;
  corrected_micro: number;
  idle_micro: number;
  unpriced_gpu_us: number;
  active_gpu_us: number | null;
  sampled_gpu_us: number;
  active_by: string;
  energy_mj: number | null;
  energy_gpu_us: number;
  energy_by: string;
  lost_gpu_us: number | null;
  useful_gpu_us: number | null;
}

export interface UsePage {
  at: number;
  devices: Array<DeviceUse>;
  gangs: Array<GangUse>;
}

export interface UserPage {
  items: Array<UserView>;
}

export interface UserView {
  user: string;
  disabled: boolean;
  changed: number;
  by: string;
  at: number;
  groups: Array<string>;
}

export interface UserWish {
  user: string;
  password: string;
  groups: Array<string>;
}

export interface UtilisationRow {
  queue: string;
  allocated_gpu_us: number;
  capacity_gpu_us: number | null;
  held_milli: number;
  active_milli: number | null;
  active_gpu_us: number | null;
  sampled_gpu_us: number;
  active_by: string;
  energy_mj: number | null;
  energy_gpu_us: number;
  energy_by: string;
  lost_gpu_us: number | null;
  useful_gpu_us: number | null;
}

export interface Verdict {
  placement: Placement | null;
  reason: Reason | null;
  suggestions: Array<Suggestion>;
  stops: Array<string>;
  snapshot: number;
  gangs: number;
  plan: string;
  cost: WorkloadCost | null;
  model: ModelUse | null;
  displaced: Displacement | null;
  takeover_ms: number;
  start: Band | null;
  start_unknown: StartUnknown | null;
  guesses: Array<string>;
}

export interface Version {
  version: string;
}

export interface WaitRow {
  queue: string;
  size: string;
  started: number;
  p50_ms: number | null;
  p95_ms: number | null;
  waiting: number;
  longest_ms: number | null;
}

export interface WaitedFor {
  attempt: number;
  reason: string;
  total_ms: number;
  times: number;
  until: number;
}

export interface WhatIf {
  id: string;
  at: number;
  user: string;
  state: string;
  done_permille: number;
  message: string;
  changes: Array<string>;
  report: WhatIfReport | null;
  url: string;
}

export interface WhatIfFigure {
  past: number;
  replay: number;
  changed: number;
  bar: number;
  visible: boolean;
}

export interface WhatIfGroup {
  by: string;
  name: string;
  jobs: number;
  waiting: number;
  figures: Record<string, WhatIfFigure>;
}

export interface WhatIfMover {
  workload: string;
  name: string;
  queue: string;
  user: string;
  replay_ms: number;
  changed_ms: number;
  bar_ms: number;
}

export interface WhatIfPage {
  items: Array<WhatIf>;
  next: string | null;
}

export interface WhatIfReport {
  since: number;
  until: number;
  changes: Array<string>;
  jobs: number;
  groups: Array<WhatIfGroup>;
  winners: Array<WhatIfMover>;
  losers: Array<WhatIfMover>;
  starts: Array<WhatIfStart>;
  assumptions: Array<string>;
  currency: string;
  others_shorter: number;
  others_longer: number;
}

export interface WhatIfStart {
  name: string;
  queue: string;
  submitted: number;
  started: number | null;
  starting: number | null;
  message: string;
}

export interface WhoAmI {
  user: string;
  groups: Array<string>;
  owner: boolean;
  token: string;
  limit: string;
  until: number;
  grants: Array<GrantView>;
  session: string;
  csrf: string;
  every_queue: boolean;
  spend_cap: SpendCap | null;
}

export interface WhoCan {
  verb: string;
  resource: string;
  queue: string;
  items: Array<HolderView>;
}

export interface Why {
  workload: string;
  explanations: Array<Explained>;
  gangs: number;
  asked: AskedScheduler | null;
}

export interface WhyQuestion {
  kind: "why";
  gang: string;
}

export interface WorkloadCost {
  currency: string;
  so_far_micro: number;
  most_micro: number | null;
  unknown: string;
  unpriced_gpu_us: number;
}

export interface WorkloadDetail {
  id: string;
  name: string;
  kind: string;
  queue: string;
  user: string;
  priority: number;
  state: string;
  reason: string;
  message: string;
  gpus: number;
  gpus_held: number;
  pods: number;
  running: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  stopped_early: number;
  waiting: number;
  standby: number;
  submitted: number;
  started: number | null;
  ended: number | null;
  exit_code: number | null;
  position: number | null;
  silent_since: number;
  waits_for: Array<string>;
  preemptions: number;
  lost_gpu_ms: number;
  alarms: Record<string, string>;
  cost: WorkloadCost | null;
  gangs: Array<GangView>;
  document: Record<string, unknown>;
  time_limit_ms: number | null;
  submitted_limit_ms: number | null;
  url: string;
  use: string;
  scaling: Scaling | null;
  spent: Spent | null;
  sessions: Array<SessionView>;
  model: ModelUse | null;
  model_kept: ModelKept | null;
  load: RoutedLoad | null;
  image: string;
}

export interface WorkloadFile {
  name?: unknown;
  kind?: string;
  queue?: unknown;
  priority?: unknown;
  run: unknown;
  setup?: unknown;
  workdir?: unknown;
  image?: unknown;
  model?: string;
  env?: unknown;
  secrets?: unknown;
  nodes?: unknown;
  procs_per_node?: unknown;
  resources?: Resources;
  pod_sets?: Array<PodSetFile>;
  placement?: "any" | "cluster" | "region" | "zone" | "block" | "rack" | "nvlink-domain" | "node" | "numa" | "island" | "prefer_cluster" | "prefer_region" | "prefer_zone" | "prefer_block" | "prefer_rack" | "prefer_nvlink-domain" | "prefer_node" | "prefer_numa" | "prefer_island" | string | Record<string, string>;
  groups?: Array<Group>;
  time_limit?: unknown;
  deadline?: unknown | null;
  preemptible?: unknown;
  checkpoint?: CheckpointFile | null;
  retry?: RetryFile;
  constraints?: ConstraintsFile;
  after?: unknown;
  singleton?: unknown;
  schedule?: ScheduleFile | null;
  hold?: unknown;
  replicas?: unknown;
  scale?: ScaleFile | null;
  port?: unknown;
  tty?: unknown;
  access?: "owner" | "anyone" | Record<string, unknown>;
  params?: unknown;
  trials?: Array<Record<string, unknown>>;
  search?: SearchFile | null;
  parallel?: unknown;
  early_stop?: EarlyStopFile | null;
  idle_timeout?: unknown;
  idle?: IdleFile;
  labels?: Record<string, unknown>;
  notify?: NotifyFile | null;
}

export interface WorkloadFilter {
  state: Array<State>;
  queue: Array<string>;
  user: Array<string>;
  kind: Array<Kind>;
  name: Array<string>;
  text: string;
  since: string;
  until: string;
}

export interface WorkloadPage {
  items: Array<WorkloadView>;
  next: string | null;
}

export interface WorkloadView {
  id: string;
  name: string;
  kind: string;
  queue: string;
  user: string;
  priority: number;
  state: string;
  reason: string;
  message: string;
  gpus: number;
  gpus_held: number;
  pods: number;
  running: number;
  succeeded: number;
  failed: number;
  cancelled: number;
  stopped_early: number;
  waiting: number;
  standby: number;
  submitted: number;
  started: number | null;
  ended: number | null;
  exit_code: number | null;
  position: number | null;
  silent_since: number;
  waits_for: Array<string>;
  preemptions: number;
  lost_gpu_ms: number;
  alarms: Record<string, string>;
  cost: WorkloadCost | null;
  gangs: number;
}

export interface Wrong {
  detail: string;
  key: string;
  hint: string;
  file: string;
  line: number;
  column: number;
}

export type Yielding = "ended" | "moved" | "requeued" | "shrunk" | "waits";

export interface Gets {
  "/models": ModelList;
  "/workloads": WorkloadPage;
  "/workloads/{ref}/why": Why;
  "/workloads/{ref}": WorkloadDetail;
  "/nodes": NodePage;
  "/gpus": CapacityPage;
  "/order": OrderPage;
  "/order/starts": StartPage;
  "/queues": QueuePage;
  "/queues/{name}": QueueRules;
  "/policy": PolicyView;
  "/policy/versions": PolicyHistory;
  "/policy/versions/{number}": PolicyView;
  "/bookings": BookingPage;
  "/schedules": SchedulePage;
  "/secrets": SecretPage;
  "/drains": DrainPage;
  "/history": HistoryPage;
  "/workloads/{ref}/attempts": AttemptPage;
  "/workloads/{ref}/curves": CurvePage;
  "/use": UsePage;
  "/nodes/{name}": NodeDetail;
  "/timeline": TimelinePage;
  "/usage": UsagePage;
  "/report": Report;
  "/reclaims": ReclaimPage;
  "/prices": PricePage;
  "/prices:history": PricePage;
  "/budget-requests": BudgetRequestPage;
  "/budgets": BudgetPage;
  "/whoami": WhoAmI;
  "/roles": RolePage;
  "/whocan": WhoCan;
  "/tokens": TokenPage;
  "/sessions": BrowserSessions;
  "/notices": NoticesView;
  "/users": UserPage;
  "/holds": HoldPage;
  "/clusters": ClusterPage;
  "/whatif": WhatIfPage;
  "/whatif/{question}": WhatIf;
  "/audit/records": TrailPage;
  "/audit/anchors": AnchorPage;
  "/audit/verification": TrailVerdict;
  "/healthz": Health;
  "/version": Version;
}
export interface Posts {
  "/workloads:submit": BatchAnswer;
  "/workloads:cancel": BulkAnswer;
  "/workloads:update": BulkAnswer;
  "/workloads:suspend": BulkAnswer;
  "/workloads:resume": BulkAnswer;
  "/workloads/{ref}/suspend": Suspension;
  "/workloads/{ref}/resume": WorkloadDetail;
  "/workloads/{ref}/scale": WorkloadDetail;
  "/workloads/{ref}/open": Opening;
  "/workloads/{ref}/model": WorkloadDetail;
  "/workloads": Accepted | Verdict;
  "/workloads/{ref}/cancel": WorkloadDetail;
  "/workloads/{ref}/retry": Accepted;
  "/nodes/{name}/cordon": Done;
  "/nodes/{name}/uncordon": Done;
  "/shutdown": Done;
  "/queues/{name}/check": PolicyOutcome;
  "/policy/check": PolicyOutcome;
  "/policy/rollback": PolicyOutcome;
  "/budgets/{name}/requests": BudgetRequestView;
  "/budget-requests/{number}/approve": BudgetRequestView;
  "/budget-requests/{number}/deny": BudgetRequestView;
  "/roles:grant": GrantView;
  "/roles:revoke": Done;
  "/roles:break-glass": RolePage;
  "/roles:mend-glass": Done;
  "/tokens": NewToken;
  "/users": UserView;
  "/users:bootstrap": BootstrapLink;
  "/portal:link": PortalLink;
  "/users/{user}/disable": UserView;
  "/users/{user}/enable": UserView;
  "/users:erase": ErasureView;
  "/clusters/{name}/records": DeliveryPosition;
  "/clusters/{name}/questions": QuestionPage;
  "/clusters/{name}/answers": AnswerTaken;
  "/whatif": WhatIf;
}
export interface Puts {
  "/queues/{name}": QueueView;
  "/policy": PolicyOutcome;
  "/bookings/{name}": BookingView;
  "/secrets/{name}": Done;
  "/drains/{what}": DrainView;
  "/prices/{flavor}": PriceView;
  "/budgets/{name}": BudgetLine;
  "/notices": NoticesView;
  "/users/{user}/password": Done;
  "/users/{user}/groups": UserView;
  "/holds/{hold}": HoldView;
}
export interface Patchs {
  "/workloads/{ref}": WorkloadDetail;
}
export interface Deletes {
  "/queues/{name}": Done;
  "/bookings/{name}": Done;
  "/schedules/{name}": Done;
  "/secrets/{name}": Done;
  "/drains/{what}": Done;
  "/budgets/{name}": Done;
  "/tokens/{token}": Done;
  "/sessions/{session}": Done;
  "/users/{user}": Done;
  "/holds/{hold}": Done;
}
