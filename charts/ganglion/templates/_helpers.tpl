{{- define "ganglion.name" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else if contains .Chart.Name .Release.Name -}}
{{ .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" }}
{{- end -}}
{{- end -}}

{{- define "ganglion.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ganglion.labels" -}}
{{ include "ganglion.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "ganglion.server" -}}
{{ include "ganglion.name" . }}-server
{{- end -}}

{{- /* Other labels than those of the scheduler, whose Service must not find the server. */ -}}
{{- define "ganglion.serverSelector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-server
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ganglion.serverHost" -}}
{{ include "ganglion.server" . }}.{{ .Release.Namespace }}.svc:{{ .Values.server.port }}
{{- end -}}

{{- /* Where the scheduler delivers what it decides. */ -}}
{{- define "ganglion.historyUrl" -}}
{{- if .Values.history.url -}}
{{ .Values.history.url }}
{{- else if .Values.server.enabled -}}
{{ ternary "https" "http" (ne .Values.server.tlsSecret "") }}://{{ include "ganglion.serverHost" . }}
{{- else -}}
{{ fail "history.cluster needs history.url, or server.enabled" }}
{{- end -}}
{{- end -}}

{{- define "ganglion.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "ganglion.name" .) }}
{{- else -}}
{{ required "serviceAccount.name is needed where serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "ganglion.priorityClass" -}}
{{- if .Values.priorityClass.create -}}
{{ .Values.priorityClass.name | default (include "ganglion.name" .) }}
{{- else -}}
{{ .Values.priorityClass.name }}
{{- end -}}
{{- end -}}

{{- define "ganglion.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "ganglion.subject" -}}
- kind: ServiceAccount
  name: {{ include "ganglion.serviceAccount" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}

{{- /* Kinds of owners beside Jobs and those of apps: by group, those with a switch and others. */ -}}
{{- define "ganglion.owners" -}}
kinds:
{{- with .Values.integrations }}
{{- if .jobset }}
  - {group: jobset.x-k8s.io, switched: [jobsets], others: []}
{{- end }}
{{- if .leaderworkerset }}
  - {group: leaderworkerset.x-k8s.io, switched: [], others: [leaderworkersets]}
{{- end }}
{{- if .trainer }}
  - {group: trainer.kubeflow.org, switched: [trainjobs], others: []}
{{- end }}
{{- if .kubeflow }}
  - {group: kubeflow.org, switched: [pytorchjobs, tfjobs, xgboostjobs, paddlejobs, jaxjobs, mpijobs], others: []}
{{- end }}
{{- if .ray }}
  - {group: ray.io, switched: [rayclusters, rayjobs], others: [rayservices]}
{{- end }}
{{- if .kserve }}
  - {group: serving.kserve.io, switched: [], others: [inferenceservices, llminferenceservices]}
{{- end }}
{{- if .notebooks }}
  - {group: kubeflow.org, switched: [], others: [notebooks]}
{{- end }}
{{- if .spark }}
  - {group: sparkoperator.k8s.io, switched: [sparkapplications], others: []}
{{- end }}
{{- if .appwrapper }}
  - {group: workload.codeflare.dev, switched: [appwrappers], others: []}
{{- end }}
{{- end }}
{{- end -}}

{{- /* The user that the scheduler is to the API server. */ -}}
{{- define "ganglion.user" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "ganglion.serviceAccount" . }}
{{- end -}}

{{- /* Rules of admission policies for what makes pods, beside the kinds of apps. */ -}}
{{- define "ganglion.madeBy" -}}
- {apiGroups: [batch], apiVersions: ["*"], operations: {{ .operations | toJson }}, resources: {{ .batch | toJson }}}
{{- $operations := .operations }}
{{- with include "ganglion.owners" .root | fromYaml }}
{{- range .kinds }}
- {apiGroups: [{{ .group }}], apiVersions: ["*"], operations: {{ $operations | toJson }}, resources: {{ concat .switched .others | toJson }}}
{{- end }}
{{- end }}
{{- end -}}
