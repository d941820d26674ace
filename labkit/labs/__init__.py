"""What ships beside each lab's answers: checks, figures, widget, experiments; a folder per lab."""
