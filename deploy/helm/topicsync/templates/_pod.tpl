{{/* The environment: settings, paths of secrets and certificates, and extraEnv. */}}
{{- define "topicsync.env" -}}
{{- $values := .Values }}
{{- $settings := deepCopy $values.settings }}
{{- if $values.tls.secretName }}
{{- $_ := set $settings "HTTP_TLS_CERT" "/run/topicsync/tls/tls.crt" }}
{{- $_ := set $settings "HTTP_TLS_KEY" "/run/topicsync/tls/tls.key" }}
{{- end }}
{{- if include "topicsync.hasKafkaTls" . }}
{{- $_ := set $settings "KAFKA_TLS" true }}
{{- if $values.kafkaTls.ca }}
{{- $_ := set $settings "KAFKA_TLS_CA" "/run/topicsync/kafka-tls/ca.crt" }}
{{- end }}
{{- if $values.kafkaTls.cert }}
{{- $_ := set $settings "KAFKA_TLS_CERT" "/run/topicsync/kafka-tls/tls.crt" }}
{{- $_ := set $settings "KAFKA_TLS_KEY" "/run/topicsync/kafka-tls/tls.key" }}
{{- end }}
{{- end }}
{{- range $name := include "topicsync.secretNames" . | fromJsonArray }}
{{- $_ := set $settings (printf "%s_FILE" $name) (printf "/run/topicsync/secrets/%s" $name) }}
{{- end }}
{{- range $name := keys $settings | sortAlpha }}
- name: {{ $name }}
  value: {{ include "topicsync.settingText" (get $settings $name) | quote }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "topicsync.volumeMounts" -}}
# For commands that are run in the pod (topics export --out /tmp/…); the service writes no files.
- name: tmp
  mountPath: /tmp
- name: secrets
  mountPath: /run/topicsync/secrets
  readOnly: true
{{- if .Values.tls.secretName }}
- name: tls
  mountPath: /run/topicsync/tls
  readOnly: true
{{- end }}
{{- if include "topicsync.hasKafkaTls" . }}
- name: kafka-tls
  mountPath: /run/topicsync/kafka-tls
  readOnly: true
{{- end }}
{{- with .Values.mongodbTls }}
{{- if or .ca .certificateKey }}
- name: mongodb-tls
  mountPath: /run/topicsync/mongodb-tls
  readOnly: true
{{- end }}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "topicsync.volumes" -}}
- name: tmp
  emptyDir:
    sizeLimit: 256Mi
- name: secrets
  projected:
    # 0444: the user of the pod may be any.
    defaultMode: 292
    sources:
      {{- include "topicsync.sources" .Values.secrets.existing | nindent 6 }}
      {{- if .Values.secrets.values }}
      - secret:
          name: {{ include "topicsync.fullname" . }}
      {{- end }}
{{- with .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 292
{{- end }}
{{- if include "topicsync.hasKafkaTls" . }}
- name: kafka-tls
  projected:
    defaultMode: 292
    sources:
      {{- with .Values.kafkaTls }}
      {{- include "topicsync.sources" (dict "ca.crt" .ca "tls.crt" .cert "tls.key" .key) | nindent 6 }}
      {{- end }}
{{- end }}
{{- with .Values.mongodbTls }}
{{- if or .ca .certificateKey }}
- name: mongodb-tls
  projected:
    defaultMode: 292
    sources:
      {{- include "topicsync.sources" (dict "ca.crt" .ca "tls.pem" .certificateKey) | nindent 6 }}
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The sources of a projected volume: the Secret's name and key by the name of the file. */}}
{{- define "topicsync.sources" -}}
{{- range $path, $from := . }}
{{- with $from }}
- secret:
    name: {{ .name }}
    items:
      - key: {{ .key }}
        path: {{ $path }}
{{- end }}
{{- end }}
{{- end }}

{{/* What the pods of the service and of the CronJob have in common. */}}
{{- define "topicsync.podBasics" -}}
serviceAccountName: {{ include "topicsync.serviceAccountName" . }}
automountServiceAccountToken: false
# Service variables could collide with settings, and there may be thousands.
enableServiceLinks: false
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  {{- include "topicsync.volumes" . | nindent 2 }}
{{- end }}

{{- define "topicsync.containerBasics" -}}
name: topicsync
image: {{ include "topicsync.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
env:
  {{- include "topicsync.env" . | trim | nindent 2 }}
resources:
  {{- toYaml .Values.resources | nindent 2 }}
volumeMounts:
  {{- include "topicsync.volumeMounts" . | nindent 2 }}
{{- end }}
