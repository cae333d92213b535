{{- /* The configuration as the gateway reads it: gateway.config, and what only the chart knows. */ -}}
{{- define "foldgate.config" -}}
{{- $config := deepCopy .Values.gateway.config -}}
{{- $keys := include "foldgate.keysSecret" . -}}
{{- $eddsa := eq .Values.keys.algorithm "EdDSA" -}}
{{- $drain := dict "name" "drain" "role" "operator" "hashFile" "/run/foldgate/drain.hash" -}}
{{- $_ := set $config.admin "tokens" (append (default list $config.admin.tokens) $drain) -}}
{{- $signs := and $keys (eq .Values.runner.kind "native") -}}
{{- if and $signs (not $config.signing) -}}
  {{- $file := ternary (dict "privateKeyFile" "/etc/foldgate/secrets/signing.pem") (dict "secretFile" "/etc/foldgate/secrets/signing.key") $eddsa -}}
  {{- $key := merge (dict "kid" .Values.keys.kid "alg" .Values.keys.algorithm) $file -}}
  {{- $_ := set $config "signing" (dict "keys" (list $key) "active" .Values.keys.kid) -}}
{{- end -}}
{{- if not $config.runners -}}
  {{- if not .Values.runner.enabled }}{{ fail "name the model servers in gateway.config.runners, or set runner.enabled" }}{{ end -}}
  {{- $runner := dict "name" "runner" "kind" .Values.runner.kind "url" (include "foldgate.runnerUrl" .) -}}
  {{- if $signs -}}
    {{- $_ := set $runner "apiKeyFile" "/etc/foldgate/secrets/runner.key" -}}
    {{- if $eddsa }}{{ $_ := set $runner "ackKeyFile" "/etc/foldgate/secrets/ack.pub" }}{{ end -}}
  {{- end -}}
  {{- $_ := set $config "runners" (list $runner) -}}
{{- end -}}
{{- if and .Values.redis.enabled (not $config.store) -}}
  {{- $_ := set $config "store" (dict "kind" "redis" "url" (include "foldgate.redisUrl" .)) -}}
{{- end -}}
{{- $folding := default dict $config.folding -}}
{{- $several := or (gt (include "foldgate.replicas" . | int) 1) (include "foldgate.scales" .) -}}
{{- $shared := eq (dig "kind" "embedded" (default dict $config.store)) "redis" -}}
{{- if and $several (not $shared) $config.signing (not $folding.peers) -}}
  {{- $_ := set $folding "peers" (list (printf "%s-peers" (include "foldgate.fullname" .))) -}}
{{- end -}}
{{- if not (hasKey $folding "stateFile") }}{{ $_ := set $folding "stateFile" "/run/foldgate/stages.json" }}{{ end -}}
{{- $_ := set $config "folding" $folding -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "foldgate.runnerUrl" -}}
{{- $host := ternary "127.0.0.1" (printf "%s-runner" (include "foldgate.fullname" .)) (eq .Values.mode "sidecar") -}}
http://{{ $host }}:{{ int .Values.runner.port }}
{{- end -}}

{{- define "foldgate.redisUrl" -}}
redis://{{ include "foldgate.fullname" . }}-redis:6379
{{- end -}}
