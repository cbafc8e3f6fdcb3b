{{/* Labels of every object. Helm adds its own when it installs them. */}}
{{- define "aim-engine.labels" -}}
app.kubernetes.io/name: aim-engine
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{/* By which labels the operator's pods are found; they must never change. */}}
{{- define "aim-engine.selector" -}}
app.kubernetes.io/name: aim-engine
control-plane: controller-manager
{{- end }}

{{/* Whom the roles of the operator are given to. */}}
{{- define "aim-engine.subjects" -}}
- kind: ServiceAccount
  name: aim-engine-controller-manager
  namespace: {{ .Release.Namespace }}
{{- end }}

{{/* The plural of each kind, in the order of the API reference. */}}
{{- define "aim-engine.kinds" -}}
aimservice: aimservices
aimmodel: aimmodels
aimclustermodel: aimclustermodels
aimclustermodelsource: aimclustermodelsources
aimservicetemplate: aimservicetemplates
aimclusterservicetemplate: aimclusterservicetemplates
aimtemplatecache: aimtemplatecaches
aimartifact: aimartifacts
aimmodelcache: aimmodelcaches
aimruntimeconfig: aimruntimeconfigs
aimclusterruntimeconfig: aimclusterruntimeconfigs
{{- end }}

{{/* Refuses values that contradict each other, which a schema can't see. */}}
{{- define "aim-engine.check" -}}
{{- $leads := false }}
{{- range .Values.manager.args }}
  {{- $flag := regexReplaceAll "^--?([^=]*).*$" . "${1}" }}
  {{- if has $flag (list "metrics-bind-address" "metrics-secure" "metrics-cert-path") }}
    {{- fail (printf "manager.args has %s: that flag follows from metrics.enable, metrics.port and certManager.enable" .) }}
  {{- end }}
  {{- if eq $flag "health-probe-bind-address" }}
    {{- fail (printf "manager.args has %s: probes are always served at port 8081" .) }}
  {{- end }}
  {{- if regexMatch "^--?leader-elect(=(1|t|T|true|True|TRUE))?$" . }}
    {{- $leads = true }}
  {{- end }}
{{- end }}
{{- if and (gt (int .Values.manager.replicas) 1) (not $leads) }}
  {{- fail (printf "manager.replicas is %d: more than one replica needs --leader-elect in manager.args" (int .Values.manager.replicas)) }}
{{- end }}
{{- range .Values.manager.env }}
  {{- if has .name (list "AIM_SYSTEM_NAMESPACE" "POD_NAME") }}
    {{- fail (printf "manager.env sets %s: the chart sets it from the pod itself" .name) }}
  {{- end }}
{{- end }}
{{- if not .Values.metrics.enable }}
  {{- range $name := list "certManager" "prometheus" "networkPolicy" }}
    {{- if (index $.Values $name).enable }}
      {{- fail (printf "%s.enable is true, but metrics.enable is false: it would have nothing to work on" $name) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- if and .Values.metrics.enable (eq (int .Values.metrics.port) 8081) }}
  {{- fail "metrics.port is 8081, where the probes are served; choose another port" }}
{{- end }}
{{- end }}
