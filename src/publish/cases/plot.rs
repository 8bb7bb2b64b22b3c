//! Plots of cases as SVG. Every number in them also stands in a table.
