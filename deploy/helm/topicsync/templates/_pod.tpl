{{/* The environment: settings, paths of secrets and certificates, and extraEnv. */}}
{{- define "topicsync.env" -}}
{{- $values := .Values }}
{{- $settings := deepCopy $values.settings }}
{{- if $values.tls.secretName }}
{{- $_ := set $settings "HTTP_TLS_CERT" "/run/topicsync/tls/tls.crt" }}
{{- $_ := set $settings "HTTP_TLS_KEY" "/run/topicsync/tls/tls.key" }}
{{- end }}
{{- if $values.kafkaTls.secretName }}
{{- $_ := set $settings "KAFKA_TLS" true }}
{{- $_ := set $settings "KAFKA_TLS_CA" "/run/topicsync/kafka-tls/ca.crt" }}
{{- if $values.kafkaTls.clientCertificate }}
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
# For commands that are run in the pod (installations export --out /tmp/…); the service writes no files.
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
{{- if .Values.kafkaTls.secretName }}
- name: kafka-tls
  mountPath: /run/topicsync/kafka-tls
  readOnly: true
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
    # 0440: readable by the pod's group.
    defaultMode: 288
    sources:
      {{- range $name, $from := .Values.secrets.existing }}
      - secret:
          name: {{ $from.name }}
          items:
            - key: {{ $from.key }}
              path: {{ $name }}
      {{- end }}
      {{- if .Values.secrets.values }}
      - secret:
          name: {{ include "topicsync.fullname" . }}
      {{- end }}
{{- with .Values.tls.secretName }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 288
{{- end }}
{{- with .Values.kafkaTls.secretName }}
- name: kafka-tls
  secret:
    secretName: {{ . }}
    defaultMode: 288
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
