"""What people read: feedback, class report, evidence."""
