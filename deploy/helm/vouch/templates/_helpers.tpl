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
{{- $urls = append $urls (printf "nats://%s-%d.%s-headless:4222" $nats $i $nats) -}}
{{- end -}}
{{- join "," $urls -}}
{{- else -}}
{{- required "natsUrl is needed where nats.enabled is false" .Values.natsUrl -}}
{{- end -}}
{{- end -}}

{{/* What all pods have in common. */}}
{{- define "vouch.podSpec" -}}
automountServiceAccountToken: false
{{- /* Kubernetes would set VOUCH_PORT, which is a setting, for the Service `vouch`. */}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
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
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
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
