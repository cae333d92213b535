{{- define "foldgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* Short enough for the longest of our endings. */ -}}
{{- define "foldgate.fullname" -}}
{{- $name := include "foldgate.name" . -}}
{{- $both := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $both .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "foldgate.selector" -}}
app.kubernetes.io/name: {{ include "foldgate.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "foldgate.labels" -}}
{{ include "foldgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: foldgate
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{- /* metadata of an object: name (an ending), component, root. */ -}}
{{- define "foldgate.metadata" -}}
name: {{ include "foldgate.fullname" .root }}{{ .suffix }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "foldgate.labels" . | nindent 2 }}
{{- end -}}

{{- define "foldgate.image" -}}
{{- $name := .image.repository -}}
{{- if .image.digest }}{{ $name }}@{{ .image.digest }}{{ else }}{{ $name }}:{{ default .root.Chart.AppVersion .image.tag }}{{ end -}}
{{- end -}}

{{- define "foldgate.keysSecret" -}}
{{- if .Values.keys.existingSecret }}{{ .Values.keys.existingSecret }}{{ else if .Values.keys.create }}{{ include "foldgate.fullname" . }}-keys{{ end -}}
{{- end -}}

{{- /* The account needs a token only where the gateway speaks to the API server. */ -}}
{{- define "foldgate.kubernetes" -}}
{{- $kubernetes := dig "folding" "kubernetes" (dict) .Values.gateway.config -}}
{{- if or $kubernetes.rollback $kubernetes.events }}true{{ end -}}
{{- end -}}

{{- /* A sidecar has as many as there are runners. */ -}}
{{- define "foldgate.replicas" -}}
{{- ternary .Values.runner.replicas .Values.gateway.replicas (eq .Values.mode "sidecar") -}}
{{- end -}}

{{- define "foldgate.scales" -}}
{{- if and .Values.autoscaling.enabled (eq .Values.mode "standalone") }}true{{ end -}}
{{- end -}}

{{- define "foldgate.graceSeconds" -}}
{{- $drain := .Values.gateway.config.drain -}}
{{- div (add ($drain.delayMs | int64) ($drain.graceMs | int64) 15999) 1000 -}}
{{- end -}}

{{- define "foldgate.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "foldgate.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: { type: RuntimeDefault }
{{- end -}}

{{- /* What every pod of ours has in common. */ -}}
{{- define "foldgate.podCommon" -}}
serviceAccountName: {{ include "foldgate.fullname" . }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.topologySpreadConstraints }}
topologySpreadConstraints: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.pod.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- include "foldgate.podSecurity" . | nindent 2 }}
{{- end -}}
