interface SelectFieldProps {
  readonly label: string;
  /** Labels by value. */
  readonly options: Readonly<Record<string, string>>;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly hint?: string;
}

export const SelectField = ({ label, options, value, onChange, hint }: SelectFieldProps) => (
  <label>
    {label}
    <select
      value={value}
      onChange={(event) => {
        onChange(event.currentTarget.value);
      }}
    >
      {Object.entries(options).map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
    {hint !== undefined && <small>{hint}</small>}
  </label>
);
