{{- define "vouch.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The labels by which pods of one part are chosen. Argument: list of context and part. */}}
{{- define "vouch.selector" -}}
{{- $context := index . 0 -}}
app.kubernetes.io/name: vouch
app.kubernetes.io/instance: {{ $context.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "vouch.labels" -}}
{{- $context := index . 0 -}}
{{ include "vouch.selector" . }}
app.kubernetes.io/version: {{ $context.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $context.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $context.Chart.Name $context.Chart.Version }}
{{- end -}}

{{- define "vouch.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* What the chart of NATS calls its resources. */}}
{{- define "vouch.nats" -}}
{{- ternary .Release.Name (printf "%s-nats" .Release.Name) (contains "nats" .Release.Name) -}}
{{- end -}}

{{- define "vouch.natsUrl" -}}
{{- if .Values.nats.enabled -}}
{{- $urls := list -}}
{{- $nats := include "vouch.nats" . -}}
{{- range $i := until (int .Values.nats.config.cluster.replicas) -}}
{{- $urls = append $urls (printf "nats://%s-%d.%s-headless:%d" $nats $i $nats (int $.Values.nats.config.nats.port)) -}}
{{- end -}}
{{- join "," $urls -}}
{{- else -}}
{{- required "natsUrl is needed where nats.enabled is false" .Values.natsUrl -}}
{{- end -}}
{{- end -}}

{{/* The ports of the NATS servers, as a list in JSON. */}}
{{- define "vouch.natsPorts" -}}
{{- $ports := list -}}
{{- range splitList "," (include "vouch.natsUrl" .) -}}
{{- $ports = append $ports (regexFind ":[0-9]+$" (urlParse .).host | trimPrefix ":" | default "4222" | int) -}}
{{- end -}}
{{- $ports | uniq | toJson -}}
{{- end -}}

{{/* Milliseconds that an answer may take, and the longest of all, as the settings have them. */}}
{{- define "vouch.deadlineMs" -}}
{{- .Values.settings.VOUCH_DEADLINE_MS | default "10000" -}}
{{- end -}}
{{- define "vouch.longestMs" -}}
{{- max (include "vouch.deadlineMs" . | int64) (.Values.settings.VOUCH_REBUILD_MS | default "900000" | int64) -}}
{{- end -}}

{{/* Refuses a setting that the chart makes of another value: probes, Services and policies follow that value. */}}
{{- define "vouch.assertSettings" -}}
{{- $values := dict
  "VOUCH_HOST" "" "VOUCH_DATA_DIR" "" "VOUCH_PORT" "ports.http" "VOUCH_METRICS" "ports.metrics" "VOUCH_NATS_URL" "natsUrl"
  "VOUCH_NATS_NKEY" "secrets" "VOUCH_NATS_CA" "secrets.natsCa" "VOUCH_NATS_CERT" "secrets.natsClient"
  "VOUCH_NATS_KEY" "secrets.natsClient" "VOUCH_REPLICAS" "replicas" "VOUCH_DRAIN_TIMEOUT_MS" "shards.drainTimeoutMs"
  "VOUCH_MASTER_KEY_FILE" "secrets.masterKey" "VOUCH_LOG_KEY_FILE" "secrets.logKey" "VOUCH_WITNESSES" "witnesses.policy"
  "VOUCH_TLS_CERT" "secrets.tls" "VOUCH_TLS_KEY" "secrets.tls" "VOUCH_INSECURE_HTTP" "secrets.tls" -}}
{{- range $name, $_ := .Values.settings -}}
{{- if hasKey $values $name -}}
{{- $value := get $values $name -}}
{{- fail (printf "settings.%s is made by the chart: %s" $name ($value | empty | ternary "leave it out" (printf "set %s" $value))) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What docs/operations/proxies.md demands of a proxy, for ingress-nginx and both controllers of HAProxy. */}}
{{- define "vouch.ingressAnnotations" -}}
{{- $seconds := add (divf (include "vouch.longestMs" . | int64) 1000 | ceil | int) 20 -}}
{{- $mebibytes := add (divf (.Values.settings.VOUCH_BODY_BYTES | default "33554432" | int64) 1048576 | ceil | int) 1 -}}
nginx.ingress.kubernetes.io/proxy-http-version: '1.1'
nginx.ingress.kubernetes.io/proxy-body-size: {{ $mebibytes }}m
nginx.ingress.kubernetes.io/proxy-request-buffering: 'off'
nginx.ingress.kubernetes.io/proxy-buffering: 'off'
nginx.ingress.kubernetes.io/proxy-connect-timeout: '2'
nginx.ingress.kubernetes.io/proxy-read-timeout: {{ $seconds | quote }}
nginx.ingress.kubernetes.io/proxy-next-upstream: error timeout http_503
nginx.ingress.kubernetes.io/proxy-next-upstream-tries: '2'
# Its ConfigMap alone says how long a connection stays idle: 60 s by default, and a coordinator closes it after 8 s or more.
nginx.ingress.kubernetes.io/connection-proxy-header: close
haproxy.org/timeout-server: {{ $seconds }}s
haproxy-ingress.github.io/timeout-server: {{ $seconds }}s
haproxy-ingress.github.io/timeout-connect: 2s
haproxy-ingress.github.io/proxy-body-size: {{ $mebibytes }}m
{{- if .Values.secrets.tls }}
nginx.ingress.kubernetes.io/backend-protocol: HTTPS
haproxy.org/server-ssl: 'true'
haproxy-ingress.github.io/backend-protocol: h1-ssl
{{- end }}
{{- end -}}

{{/* What all pods have in common. */}}
{{- define "vouch.podSpec" -}}
automountServiceAccountToken: false
{{- /* Kubernetes would set VOUCH_PORT, which is a setting, for the Service `vouch`. */}}
enableServiceLinks: false
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- end -}}

{{- define "vouch.container" -}}
image: {{ include "vouch.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- with .Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The environment of every process. Argument: list of context and role. */}}
{{- define "vouch.env" -}}
{{- $context := index . 0 -}}
- { name: VOUCH_NATS_URL, value: {{ include "vouch.natsUrl" $context | quote }} }
- { name: VOUCH_NATS_NKEY, value: /nats-user/{{ index . 1 }}.nk }
- { name: TMPDIR, value: /scratch }
- { name: VOUCH_REPLICAS, value: {{ $context.Values.replicas | quote }} }
{{- if $context.Values.secrets.natsCa }}
- { name: VOUCH_NATS_CA, value: /nats-ca/ca.crt }
{{- end }}
{{- if $context.Values.secrets.natsClient }}
- { name: VOUCH_NATS_CERT, value: /nats-client/tls.crt }
- { name: VOUCH_NATS_KEY, value: /nats-client/tls.key }
{{- end }}
{{- range $name, $value := $context.Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end -}}

{{- define "vouch.mounts" -}}
- { name: nats-user, mountPath: /nats-user, readOnly: true }
- { name: scratch, mountPath: /scratch }
{{- if .Values.secrets.natsCa }}
- { name: nats-ca, mountPath: /nats-ca, readOnly: true }
{{- end }}
{{- if .Values.secrets.natsClient }}
- { name: nats-client, mountPath: /nats-client, readOnly: true }
{{- end }}
{{- end -}}

{{/* Argument: list of context and the Secret of the user of NATS. */}}
{{- define "vouch.volumes" -}}
{{- $context := index . 0 -}}
- name: nats-user
  secret: { secretName: {{ index . 1 }}, defaultMode: 0440 }
- name: scratch
  emptyDir: {}
{{- with $context.Values.secrets.natsCa }}
- name: nats-ca
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- with $context.Values.secrets.natsClient }}
- name: nats-client
  secret: { secretName: {{ . }}, defaultMode: 0440 }
{{- end }}
{{- end -}}

{{/* Where pods run. Argument: list of context, part and its values. */}}
{{- define "vouch.scheduling" -}}
{{- $values := index . 2 -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "vouch.selector" . | nindent 8 }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
