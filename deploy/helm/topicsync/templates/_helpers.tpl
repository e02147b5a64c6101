{{- define "topicsync.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "topicsync.fullname" -}}
{{- $name := include "topicsync.name" . }}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "topicsync.selectorLabels" -}}
app.kubernetes.io/name: {{ include "topicsync.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "topicsync.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "topicsync.selectorLabels" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "topicsync.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "topicsync.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "topicsync.image" -}}
{{- $repository := .Values.image.repository | default (.Chart.Home | trimPrefix "https://github.com/" | lower | printf "ghcr.io/%s") }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- define "topicsync.scheme" -}}
{{- if or .Values.tls.secretName .Values.settings.HTTP_TLS_CERT }}HTTPS{{ else }}HTTP{{ end }}
{{- end }}

{{/* The name of the port with probes and metrics. */}}
{{- define "topicsync.managementPort" -}}
{{- ternary "management" "http" (hasKey .Values.settings "MANAGEMENT_PORT") }}
{{- end }}

{{/* The Service whose name is the job of the metrics. */}}
{{- define "topicsync.managementName" -}}
{{- printf "%s-management" (include "topicsync.fullname" . | trunc 52 | trimSuffix "-") }}
{{- end }}

{{/* A setting as text. Helm parses numbers as floats and would print 1000000 as 1e+06. */}}
{{- define "topicsync.settingText" -}}
{{- if kindIs "slice" . }}{{ join "," . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}
{{- end }}
{{- end }}

{{/* The Kafka topics and groups whose lag is measured. */}}
{{- define "topicsync.group" -}}
{{- .Values.settings.KAFKA_GROUP_ID | default "topicsync" }}
{{- end }}

{{/* Whether the brokers are reached over TLS with files from Secrets. */}}
{{- define "topicsync.hasKafkaTls" -}}
{{- with .Values.kafkaTls }}{{ if or .ca .cert }}true{{ end }}{{ end }}
{{- end }}

{{/* The names of the secret settings that are set, as a list. */}}
{{- define "topicsync.secretNames" -}}
{{- merge (dict) .Values.secrets.existing .Values.secrets.values | keys | sortAlpha | toJson }}
{{- end }}

{{/* Reports missing values at install time instead of in pods that fail to start. */}}
{{- define "topicsync.check" -}}
{{- $secrets := include "topicsync.secretNames" . | fromJsonArray }}
{{- $_ := required "settings.KAFKA_BROKERS: give the brokers, as host:port" .Values.settings.KAFKA_BROKERS }}
{{- if and (not .Values.image.repository) (contains "/OWNER/" .Chart.Home) }}
{{- fail "image.repository: give the image; this copy of the chart does not know who publishes it" }}
{{- end }}
{{- if ne (empty .Values.kafkaTls.cert) (empty .Values.kafkaTls.key) }}
{{- fail "kafkaTls.cert and kafkaTls.key belong together; give both or neither" }}
{{- end }}
{{- if and .Values.prometheusRule.enabled (not .Values.serviceMonitor.enabled) }}
{{- fail "prometheusRule.enabled needs serviceMonitor.enabled: the alerts are about its job" }}
{{- end }}
{{- if not (has "MONGODB_URI" $secrets) }}
{{- fail "secrets.existing.MONGODB_URI: give the name and the key of the Secret that has MongoDB's connection string (or secrets.values.MONGODB_URI)" }}
{{- end }}
{{- range keys .Values.secrets.values }}
{{- if hasKey $.Values.secrets.existing . }}
{{- fail (printf "secrets: %s is both in existing and in values; give one of them" .) }}
{{- end }}
{{- end }}
{{- $pairs := dict "BOOTSTRAP_USER" "BOOTSTRAP_PASSWORD" "KAFKA_OAUTH_CLIENT_ID" "KAFKA_OAUTH_CLIENT_SECRET" }}
{{- $mechanism := .Values.settings.KAFKA_SASL_MECHANISM | default "" }}
{{- if has $mechanism (list "oauthbearer" "aws-msk-iam") }}
{{- if eq .Values.autoscaling.by "lag" }}
{{- fail (printf "autoscaling.by: KEDA cannot log in with settings.KAFKA_SASL_MECHANISM %s as topicsync does; use cpu or none" $mechanism) }}
{{- end }}
{{- else }}
{{- $_ := set $pairs "KAFKA_SASL_MECHANISM" "KAFKA_SASL_PASSWORD" }}
{{- end }}
{{- range $setting, $secret := $pairs }}
{{- if ne (has $secret $secrets) (hasKey $.Values.settings $setting) }}
{{- fail (printf "settings.%s and secrets.existing.%s (or secrets.values.%s) belong together; give both or neither" $setting $secret $secret) }}
{{- end }}
{{- end }}
{{- if and (has "OIDC_CLIENT_SECRET" $secrets) (not (hasKey .Values.settings "OIDC_CLIENT_ID")) }}
{{- fail "secrets: OIDC_CLIENT_SECRET is the secret of settings.OIDC_CLIENT_ID, which is missing" }}
{{- end }}
{{- end }}
