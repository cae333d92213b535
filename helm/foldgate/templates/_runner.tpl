{{- define "foldgate.runner" -}}
{{- $native := eq .Values.runner.kind "native" -}}
{{- $port := int .Values.runner.port -}}
- name: runner
  image: {{ include "foldgate.image" (dict "root" . "image" .Values.runner.image) }}
  imagePullPolicy: {{ .Values.runner.image.pullPolicy }}
  {{- with .Values.runner.command }}
  command: {{ toYaml . | nindent 4 }}
  {{- end }}
  args:
    {{- if and $native (not .Values.runner.args) }}
    {{- include "foldgate.runnerFlags" . | nindent 4 }}
    {{- else }}
    {{- toYaml .Values.runner.args | nindent 4 }}
    {{- end }}
  {{- with .Values.runner.env }}
  env: {{ toYaml . | nindent 4 }}
  {{- end }}
  ports: [{ name: inference, containerPort: {{ $port }} }]
  {{- with .Values.runner.probes }}
  startupProbe:
    httpGet: { path: {{ .startup }}, port: {{ $port }} }
    periodSeconds: 5
    failureThreshold: {{ div (add (int $.Values.runner.startupSeconds) 4) 5 }}
  livenessProbe:
    httpGet: { path: {{ .liveness }}, port: {{ $port }} }
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 6
  readinessProbe:
    httpGet: { path: {{ .readiness }}, port: {{ $port }} }
    periodSeconds: 5
  {{- end }}
  {{- if eq .Values.mode "sidecar" }}
  lifecycle: {{ include "foldgate.waitForDrain" . | nindent 4 }}
  {{- end }}
  securityContext: {{ include "foldgate.runnerSecurity" . | nindent 4 }}
  resources: {{ toYaml .Values.runner.resources | nindent 4 }}
  volumeMounts:
    - { name: cache, mountPath: /var/cache/foldgate }
    - { name: runner-tmp, mountPath: /tmp }
    {{- if and $native (include "foldgate.keysSecret" .) }}
    - { name: runner-keys, mountPath: /etc/foldgate/keys, readOnly: true }
    {{- end }}
    {{- if .Values.runner.layerSecrets }}
    - { name: layer-secrets, mountPath: /etc/foldgate/layer-secrets, readOnly: true }
    {{- end }}
    {{- with .Values.runner.volumeMounts }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}

{{- /* One by one: merge takes false for absent. */ -}}
{{- define "foldgate.runnerSecurity" -}}
{{- $security := include "foldgate.containerSecurity" . | fromYaml -}}
{{- range $name, $value := .Values.runner.securityContext }}{{ $_ := set $security $name $value }}{{ end -}}
{{- toYaml $security -}}
{{- end -}}

{{- define "foldgate.runnerFlags" -}}
{{- with .Values.runner }}
- --engine={{ .engine }}
- --host=0.0.0.0
- --port={{ int .port }}
{{- if .upstream }}
- --upstream={{ .upstream }}
{{- end }}
{{- if .model }}
- --model={{ .model }}
{{- end }}
{{- end }}
{{- if include "foldgate.keysSecret" . }}
- --api-key-file=/etc/foldgate/keys/runner.key
{{- if eq .Values.keys.algorithm "EdDSA" }}
- --key={{ .Values.keys.kid }}=/etc/foldgate/keys/signing.pub
- --ack-key=/etc/foldgate/keys/ack.pem
{{- else }}
- --key={{ .Values.keys.kid }}=/etc/foldgate/keys/signing.key
{{- end }}
{{- if .Values.runner.layerSecrets }}
- --secrets-dir=/etc/foldgate/layer-secrets
{{- end }}
{{- if .Values.redis.enabled }}
- --store={{ include "foldgate.redisUrl" . }}
{{- end }}
{{- end }}
{{- with .Values.runner.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- /*
Holds a container until the gateway beside it has no call under way. Containers get SIGTERM before sidecars do: without this the
model server would die under live streams. The kubelet asks the pod's own address, where the admin port listens.
*/ -}}
{{- define "foldgate.waitForDrain" -}}
preStop:
  httpGet: { path: /-/drain/wait, port: {{ int .Values.gateway.config.admin.port }} }
{{- end -}}

{{- define "foldgate.runnerContainers" -}}
{{ include "foldgate.runner" . }}
{{- range .Values.runner.extraContainers }}
{{- $hook := ternary (dict "lifecycle" (include "foldgate.waitForDrain" $ | fromYaml)) dict (eq $.Values.mode "sidecar") }}
{{ toYaml (list (merge (deepCopy .) $hook)) }}
{{- end }}
{{- end -}}

{{- define "foldgate.runnerVolumes" -}}
- { name: cache, emptyDir: { sizeLimit: {{ .Values.runner.cacheSize }} } }
- { name: runner-tmp, emptyDir: {} }
{{- if and (eq .Values.runner.kind "native") (include "foldgate.keysSecret" .) }}
# Only what the runner may know: with EdDSA nothing that a context could be signed with.
- name: runner-keys
  secret:
    secretName: {{ include "foldgate.keysSecret" . }}
    defaultMode: 0440
    items:
      {{- range ternary (list "runner.key" "signing.pub" "ack.pem") (list "runner.key" "signing.key") (eq .Values.keys.algorithm "EdDSA") }}
      - { key: {{ . }}, path: {{ . }} }
      {{- end }}
{{- end }}
{{- with .Values.runner.layerSecrets }}
- name: layer-secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range . }}
      - secret: { name: {{ . }} }
      {{- end }}
{{- end }}
{{- with .Values.runner.volumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
