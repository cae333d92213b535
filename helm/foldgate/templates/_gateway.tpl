{{- /* Makes the token by which the pod tells its own gateway to drain: it exists in this pod only. */ -}}
{{- define "foldgate.drainToken" -}}
- name: drain-token
  image: {{ include "foldgate.image" (dict "root" . "image" .Values.gateway.image) }}
  imagePullPolicy: {{ .Values.gateway.image.pullPolicy }}
  command:
    - sh
    - -c
    - umask 077; rm -f /run/foldgate/drain.hash;
      exec foldgate key new -o name --hash-file /run/foldgate/drain.hash > /run/foldgate/drain.token
  securityContext: {{ include "foldgate.containerSecurity" . | nindent 4 }}
  resources: {{ toYaml .Values.gateway.resources | nindent 4 }}
  volumeMounts: [{ name: run, mountPath: /run/foldgate }]
{{- end -}}

{{- define "foldgate.gateway" -}}
{{- $admin := int .Values.gateway.config.admin.port -}}
- name: gateway
  image: {{ include "foldgate.image" (dict "root" . "image" .Values.gateway.image) }}
  imagePullPolicy: {{ .Values.gateway.image.pullPolicy }}
  {{- if eq .Values.mode "sidecar" }}
  restartPolicy: Always
  {{- end }}
  args: [serve, /etc/foldgate/config/gateway.yaml]
  env:
    - name: FOLDGATE__ADMIN__HOST
      valueFrom: { fieldRef: { fieldPath: status.podIP } }
    {{- with .Values.gateway.nodeOptions }}
    - name: NODE_OPTIONS
      value: {{ . | quote }}
    {{- end }}
    {{- with .Values.gateway.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - { name: http, containerPort: {{ int .Values.gateway.config.listen.port }} }
    - { name: admin, containerPort: {{ $admin }} }
  # None of these looks at the runner: a sidecar must come up before it.
  startupProbe:
    httpGet: { path: /healthz/startup, port: {{ $admin }} }
    periodSeconds: 1
    failureThreshold: 60
  livenessProbe:
    httpGet: { path: /healthz/live, port: {{ $admin }} }
    periodSeconds: 10
    timeoutSeconds: 2
    failureThreshold: 6
  readinessProbe:
    httpGet: { path: /healthz/ready, port: {{ $admin }} }
    periodSeconds: 2
    failureThreshold: 1
  lifecycle:
    preStop:
      exec:
        # Comes back at once: not ready from now on, and calls may end. A shell, for hooks know no variables; an IPv6 address needs
        # brackets.
        command:
          - sh
          - -c
          - case $FOLDGATE__ADMIN__HOST in *:*) host="[$FOLDGATE__ADMIN__HOST]";; *) host=$FOLDGATE__ADMIN__HOST;; esac;
            exec foldgate drain --admin "http://$host:{{ $admin }}" --token-file /run/foldgate/drain.token --reason "the pod is leaving"
  securityContext: {{ include "foldgate.containerSecurity" . | nindent 4 }}
  resources: {{ toYaml .Values.gateway.resources | nindent 4 }}
  volumeMounts:
    - { name: config, mountPath: /etc/foldgate/config, readOnly: true }
    - { name: secrets, mountPath: /etc/foldgate/secrets, readOnly: true }
    - { name: run, mountPath: /run/foldgate }
    - { name: tmp, mountPath: /tmp }
{{- end -}}

{{- define "foldgate.gatewayVolumes" -}}
- name: config
  configMap: { name: {{ include "foldgate.fullname" . }} }
# Files, not variables, and never by subPath: so they change under a running gateway, which reads them again.
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- with include "foldgate.keysSecret" . }}
      - secret: { name: {{ . }} }
      {{- end }}
      {{- range .Values.gateway.secrets }}
      - secret: { name: {{ . }} }
      {{- end }}
      {{- if not (or (include "foldgate.keysSecret" .) .Values.gateway.secrets) }}
      []
      {{- end }}
- { name: run, emptyDir: { medium: Memory, sizeLimit: 16Mi } }
- { name: tmp, emptyDir: { sizeLimit: 64Mi } }
{{- end -}}
